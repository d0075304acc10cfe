"""Is the kernel read as iproute2 reads it, and heard when something changes? In a namespace of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from edge.namespace import PATIENCE_SECONDS, Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.kernel import rtnetlink
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import AddressFlag, Link, Route, Snapshot
from nodenet.core.node_ip.explain import explanation
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import select
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel.watcher import SETTLE_SECONDS

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)

MANY = ip_network("10.1.0.0/16")


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """Give a namespace with a pair of links that are up."""
    inside = Namespace()
    try:
        # Duplicate address detection takes two seconds; the test that is about it turns it on again.
        inside.sysctl("net/ipv6/conf/default/accept_dad", 0)
        inside.ip(
            "link set lo up",
            "link add eth0 type veth peer name far0",
            "link set eth0 up",
            "link set far0 up",
        )
        yield inside
    finally:
        inside.close()


SETTINGS = (
    "link property add dev eth0 altname enp0s1",
    "addr add 192.0.2.5/24 dev eth0",
    "addr add 192.0.2.9/24 dev eth0 label eth0:eip",
    "addr add 10.9.9.1 peer 10.9.9.2 dev eth0",
    "addr add 192.0.2.77/24 dev eth0 valid_lft 3600 preferred_lft 0",
    "-6 addr add 2001:db8::5/64 dev eth0 nodad",
    "-6 addr add 2001:db8::6/64 dev eth0 nodad noprefixroute",
    "-6 addr add 2001:db8::7/128 dev eth0 preferred_lft 0 valid_lft 3600",
    "route add default via 192.0.2.1",
    "route add default metric 100 nexthop via 192.0.2.1 nexthop via 192.0.2.2",
    "route add default dev eth0 metric 200",
    "nexthop add id 7 via 192.0.2.1 dev eth0",
    "nexthop add id 8 via 192.0.2.2 dev eth0",
    "nexthop add id 10 group 7/8",
    "route add default nhid 10 metric 300",
    "route add default nhid 7 metric 301",
    "-4 route add default via inet6 2001:db8::1 dev eth0 metric 302",
    "route add unreachable default metric 400",
    "route add default via 192.0.2.1 table 99",
    "route add default via 192.0.2.1 table 70000",
    "route add 198.51.100.0/24 via 192.0.2.1 proto bird",
    "-6 route add default via 2001:db8::1",
    "-6 route add default metric 2000 nexthop via 2001:db8::1 nexthop via 2001:db8::2",
    "-6 route add unreachable default metric 4000",
    "-6 route add 2001:db8:1::/64 dev eth0 proto ra metric 5",
)


def iproute2(namespace: Namespace) -> Snapshot:
    """Return the snapshot that iproute2 makes."""
    return from_document(
        {
            "links": namespace.ip_json("-d link"),
            "addresses": namespace.ip_json("-d address"),
            "routes": namespace.ip_json("-d -4 route show table all"),
            "routes6": namespace.ip_json("-d -6 route show table all"),
        }
    )


def without_countdown(snapshot: Snapshot) -> tuple[set[Link], set[tuple[object, ...]], set[Route]]:
    """Return the parts as sets; a lifetime that is running shrinks between two readings."""

    def lifeless(seconds: int | None) -> int | None:
        return min(seconds, 1) if seconds is not None else None

    addresses: set[tuple[object, ...]] = {
        (
            *(a.address, a.prefix_length, a.link, a.label, a.flags, a.peer),
            *(lifeless(a.valid_lifetime), lifeless(a.preferred_lifetime)),
        )
        for a in snapshot.addresses
    }
    return set(snapshot.links), addresses, set(snapshot.routes)


def settled(namespace: Namespace) -> None:
    """Wait until duplicate address detection is over: it changes what is compared."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(AddressFlag.TENTATIVE in a.flags for a in namespace.call(netlink.snapshot).addresses):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_kernel_is_read_as_iproute2_reads_it(namespace: Namespace) -> None:
    namespace.ip(*SETTINGS)
    settled(namespace)
    ours = namespace.call(lambda: netlink.snapshot(complete=True))
    assert without_countdown(ours) == without_countdown(iproute2(namespace))


def test_a_short_reading_has_all_that_selection_looks_at(namespace: Namespace) -> None:
    """Default routes of every table that lead somewhere and routes of router advertisements, nothing else."""
    namespace.ip(*SETTINGS)
    full = namespace.call(lambda: netlink.snapshot(complete=True)).routes
    short = namespace.call(netlink.snapshot).routes
    telling = (route for route in full if route.is_default or route.protocol == "ra")
    assert set(short) == {route for route in telling if route.kind == "unicast"}
    assert len(short) == 11


def test_of_addresses_on_denied_links_a_short_reading_has_no_more_than_selection_needs(namespace: Namespace) -> None:
    """A node can have thousands of pod links: the verdicts are the same with and without what is left out."""
    namespace.ip("link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0 label docker0:x", *SETTINGS)
    settled(namespace)
    full = namespace.call(lambda: netlink.snapshot(complete=True))
    short = namespace.call(netlink.snapshot)
    denied = ip_address("172.17.0.1")
    assert [a.label for a in full.addresses if a.address == denied] == ["docker0:x"]
    assert [(a.prefix_length, a.label) for a in short.addresses if a.address == denied] == [(16, None)]
    assert [a for a in short.addresses if a.address != denied] == [a for a in full.addresses if a.address != denied]
    assert explanation(select(short, Policy())) == explanation(select(full, Policy()))


def test_next_hop_objects_are_resolved_where_the_kernel_does_not(namespace: Namespace) -> None:
    namespace.ip(*SETTINGS)
    namespace.sysctl("net/ipv4/nexthop_compat_mode", 0)
    ways = {route.metric: route.next_hops for route in namespace.call(netlink.snapshot).routes if route.nexthop_id}
    assert [hop.gateway for hop in ways[300]] == [ip_address("192.0.2.1"), ip_address("192.0.2.2")]
    assert [hop.gateway for hop in ways[301]] == [ip_address("192.0.2.1")]


def test_masters_and_link_states(namespace: Namespace) -> None:
    namespace.ip("link add br0 type bridge", "link set far0 master br0", "link set eth0 down")
    links = {link.name: link for link in namespace.call(netlink.snapshot).links}
    assert links["far0"].master == "br0"
    assert (links["eth0"].up, links["eth0"].carrier) == (False, False)
    assert (links["far0"].up, links["far0"].carrier) == (True, False)
    assert links["lo"].loopback
    assert links["br0"].kind == "bridge"


def test_a_carrier_that_went_and_came_back_is_counted(namespace: Namespace) -> None:
    before = {link.name: link for link in namespace.call(netlink.snapshot).links}
    namespace.ip("link set far0 down", "link set far0 up")
    after = {link.name: link for link in namespace.call(netlink.snapshot).links}
    assert after["eth0"].carrier_changes > before["eth0"].carrier_changes
    assert after["lo"].carrier_changes == before["lo"].carrier_changes


def test_ten_thousand_routes_and_hundreds_of_addresses(namespace: Namespace) -> None:
    """More than one buffer of everything."""
    namespace.ip("addr add 192.0.2.5/24 dev eth0", "route add default via 192.0.2.1")
    namespace.ip(*(f"addr add 10.1.{i // 250}.{i % 250 + 1}/32 dev eth0" for i in range(700)))
    namespace.ip(*(f"route add 100.{64 + i // 250}.{i % 250}.0/24 via 192.0.2.1" for i in range(10_000)))
    short = namespace.call(netlink.snapshot)
    assert len(short.routes) == 1
    assert sum(address.address in MANY for address in short.addresses) == 700
    assert len(namespace.call(lambda: netlink.snapshot(complete=True)).routes) > 10_000


def test_a_reading_while_everything_changes_is_whole(namespace: Namespace) -> None:
    """Addresses come and go during the reading: it still ends, and names only links that it lists."""
    namespace.ip(*(f"addr add 10.1.{i // 250}.{i % 250 + 1}/32 dev eth0" for i in range(2000)))
    lines = "".join(f"addr del 10.2.0.{i}/32 dev eth0\naddr add 10.2.0.{i}/32 dev eth0\n" for i in range(1, 250)) * 20
    busy = subprocess.Popen(
        [*namespace._prefix, "ip", "-force", "-batch", "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert busy.stdin is not None
    busy.stdin.write(lines)
    busy.stdin.close()
    while busy.poll() is None:
        snapshot = namespace.call(netlink.snapshot)
        assert sum(address.address in MANY for address in snapshot.addresses) == 2000


def test_addresses_that_change_while_they_are_listed_are_listed_again(namespace: Namespace) -> None:
    """The kernel continues a list by numbers: when earlier addresses go, it passes over as many others."""
    many = [f"10.1.{i // 250}.{i % 250 + 1}" for i in range(2000)]
    namespace.ip(*(f"addr add {one}/32 dev eth0" for one in many))
    parts = 0

    def change(_: object, event: str, function: object) -> None:
        nonlocal parts
        if event == "c_call" and getattr(function, "__name__", "") == "recv_into":
            parts += 1
            if parts == 2:
                namespace.ip(*(f"addr del {one}/32 dev eth0" for one in many[:100]))

    def read() -> set[str]:
        sys.setprofile(change)
        try:
            found = netlink.read_addresses()
        finally:
            sys.setprofile(None)
        return {str(address.address) for address in found if address.address in MANY}

    assert namespace.call(read) == set(many[100:])
    assert parts > 5


def test_an_address_on_a_link_that_came_meanwhile_is_read(namespace: Namespace) -> None:
    """Links are listed before addresses: its name was unknown, and the address left out."""
    asked = 0

    def change(_: object, event: str, function: object) -> None:
        nonlocal asked
        if event == "c_return" and getattr(function, "__name__", "") == "if_nameindex":
            asked += 1
            if asked == 1:
                namespace.ip("link add late0 type veth peer name late1", "addr add 10.1.0.1/32 dev late0")

    def read() -> set[str]:
        sys.setprofile(change)
        try:
            return {address.link for address in netlink.read_addresses() if address.address in MANY}
        finally:
            sys.setprofile(None)

    assert namespace.call(read) == {"late0"}
    assert asked == 2


def test_a_route_is_not_read_without_the_address_that_came_before_it(namespace: Namespace) -> None:
    """Else a link that is just being configured looks finished and without an address, and another one is chosen."""
    namespace.ip("addr add 192.0.2.5/24 dev eth0")
    hosts = [f"10.2.{i // 250}.{i % 250 + 1}" for i in range(1000)]
    command = [*namespace._prefix, "ip", "-batch", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, bufsize=1) as busy:

        def read() -> None:
            while busy.poll() is None:
                snapshot = netlink.snapshot()
                last = max((route.metric or 0 for route in snapshot.routes), default=0)
                assert last == 0 or ip_address(hosts[last]) in {item.address for item in snapshot.addresses}

        reader = namespace.start(read)
        assert busy.stdin is not None
        for i, host in enumerate(hosts):
            busy.stdin.write(f"addr add {host}/32 dev eth0\nroute add default via 192.0.2.1 metric {i}\n")
            time.sleep(0.001)
        busy.stdin.close()
        reader.result(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("address", "answer"),
    [("192.0.2.5", True), ("192.0.2.6", False), ("2001:db8::5", True), ("2001:db8::6", False)],
)
def test_only_addresses_of_the_host_can_be_bound(namespace: Namespace, address: str, answer: bool) -> None:  # noqa: FBT001
    namespace.ip("addr add 192.0.2.5/24 dev eth0", "-6 addr add 2001:db8::5/64 dev eth0 nodad")
    assert namespace.call(lambda: netlink.can_bind(ip_address(address), 2)) is answer


@pytest.mark.parametrize(("address", "answer"), [("192.0.2.5", True), ("192.0.2.6", False), ("2001:db8::6", False)])
def test_an_address_is_good_though_every_port_is_taken(namespace: Namespace, address: str, *, answer: bool) -> None:
    """Ephemeral ports can run out; the kernel looks at the address first (R23)."""
    namespace.ip("addr add 192.0.2.5/24 dev eth0")
    namespace.sysctl("net/ipv4/ip_local_port_range", "40000 40001")

    def full() -> bool:
        with contextlib.ExitStack() as held:
            for port in (40000, 40001):
                held.enter_context(socket.create_server(("", port)))
            return netlink.can_bind(ip_address(address), 0)

    assert namespace.call(full) is answer


def test_a_tentative_address_cannot_be_bound(namespace: Namespace) -> None:
    """Duplicate address detection does not end on a link without carrier, and starts again when it has one."""
    namespace.sysctl("net/ipv6/conf/eth0/accept_dad", 1)
    namespace.ip("link set far0 down", "-6 addr add 2001:db8::5/64 dev eth0")
    wanted = ip_address("2001:db8::5")
    (address,) = (a for a in namespace.call(netlink.snapshot).addresses if a.address == wanted)
    assert AddressFlag.TENTATIVE in address.flags
    assert namespace.call(lambda: netlink.can_bind(wanted, 0)) is False


def test_a_link_local_address_is_bound_on_its_link(namespace: Namespace) -> None:
    namespace.ip("-6 addr add fe80::5/64 dev eth0 nodad")
    settled(namespace)
    snapshot = namespace.call(netlink.snapshot)
    index = next(link.index for link in snapshot.links if link.name == "eth0")
    address = next(a.address for a in snapshot.addresses if a.link == "eth0" and a.address.is_link_local)
    assert namespace.call(lambda: netlink.can_bind(address, index)) is True
    assert namespace.call(lambda: netlink.can_bind(address, index + 1)) is False


def watched(namespace: Namespace, act: Callable[[], Awaitable[None] | None]) -> int:
    """Return how often the watch spoke because of *act*, its first word apart."""

    async def run() -> int:
        calls = 0
        spoken = asyncio.Event()

        def changed() -> None:
            nonlocal calls
            calls += 1
            spoken.set()

        watch = asyncio.create_task(netlink.watch(changed))
        await asyncio.wait_for(spoken.wait(), PATIENCE_SECONDS)
        spoken.clear()
        before = calls
        await asyncio.to_thread(act)
        await asyncio.wait_for(spoken.wait(), PATIENCE_SECONDS)
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch
        return calls - before

    return namespace.call(lambda: asyncio.run(run()))


@pytest.mark.parametrize(
    "line",
    [
        "addr add 192.0.2.5/24 dev eth0",
        "-6 addr add 2001:db8::5/64 dev eth0",
        "link set far0 down",
        "route add 198.51.100.0/24 dev eth0",
        "-6 route add 2001:db8:9::/64 dev eth0",
    ],
)
def test_a_change_is_told(namespace: Namespace, line: str) -> None:
    settled(namespace)
    assert watched(namespace, lambda: namespace.ip(line)) >= 1


def test_a_crowd_of_changes_is_told_a_few_times(namespace: Namespace) -> None:
    """And what overflows the socket's buffer (ENOBUFS) is a change like any other."""
    settled(namespace)
    lines = [f"route add 100.{64 + i // 250}.{i % 250}.0/24 dev eth0" for i in range(5_000)]
    assert 1 <= watched(namespace, lambda: namespace.ip(*lines)) < 1000


def test_the_watch_survives_an_overflow(namespace: Namespace) -> None:
    """The loop is blocked while more happens than the socket can hold; the watch speaks afterwards, and goes on."""
    settled(namespace)

    async def run() -> int:
        calls = 0

        def changed() -> None:
            nonlocal calls
            calls += 1

        watch = asyncio.create_task(netlink.watch(changed))
        while not calls:
            await asyncio.sleep(0.01)
        namespace.ip(*(f"route add 100.{64 + i // 250}.{i % 250}.0/24 dev eth0" for i in range(5_000)))
        for line in ("addr add 192.0.2.5/24 dev eth0", "addr del 192.0.2.5/24 dev eth0"):
            await asyncio.sleep(3 * SETTLE_SECONDS)
            before = calls
            await asyncio.to_thread(namespace.ip, line)
            while calls == before:
                await asyncio.sleep(0.01)
        assert not watch.done()
        watch.cancel()
        await asyncio.wait({watch})
        return calls

    assert namespace.call(lambda: asyncio.run(asyncio.wait_for(run(), PATIENCE_SECONDS))) >= 2


def children() -> set[int]:
    """Return the watchers that this process has started and that still run."""
    pids = {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}
    return {pid for pid in pids if b"kernel/watcher.py" in Path(f"/proc/{pid}/cmdline").read_bytes()}


async def begun() -> asyncio.Task[None]:
    """Return a watch that has said its first word."""
    spoken = asyncio.Event()
    watch = asyncio.create_task(netlink.watch(spoken.set))
    await asyncio.wait_for(spoken.wait(), PATIENCE_SECONDS)
    return watch


def test_nothing_is_left_of_a_watch(namespace: Namespace) -> None:
    """Neither its process nor, in the daemon, the library that it listens with."""

    async def run() -> tuple[set[int], set[int]]:
        watch = await begun()
        during = children()
        watch.cancel()
        await asyncio.wait({watch})
        return during, children()

    during, after = namespace.call(lambda: asyncio.run(run()))
    assert (len(during), after) == (1, set())
    assert "pyroute2" not in sys.modules


def test_a_watch_that_ends_by_itself_is_told(namespace: Namespace) -> None:
    """A stop of the unit does not end it before the daemon; a kill does, and is no silence."""

    async def run() -> None:
        watch = await begun()
        (pid,) = children()
        os.kill(pid, signal.SIGTERM)
        done, _ = await asyncio.wait({watch}, timeout=3 * SETTLE_SECONDS)
        assert not done
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="exit -9"):
            await asyncio.wait_for(watch, PATIENCE_SECONDS)

    namespace.call(lambda: asyncio.run(run()))


def test_a_watcher_ends_with_its_input() -> None:
    """A daemon that is killed leaves nobody behind."""
    command = [sys.executable, "-I", str(netlink.WATCHER), os.pathsep.join(sys.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as watcher:
        assert watcher.stdin
        assert watcher.stdout
        assert watcher.stdout.read(1) == b"\n"
        watcher.stdin.close()
        assert watcher.wait(PATIENCE_SECONDS) == 0


def test_a_watch_without_pyroute2_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", netlink.WATCHER, Path(os.__file__).parent],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "No module named 'pyroute2'\n")


def test_reading_imports_neither_pyroute2_nor_asyncio() -> None:
    """A boot reads the kernel before it watches it; a command line never watches."""
    code = "import sys, nodenet.edge.kernel.netlink; print({'pyroute2', 'asyncio', 'structlog'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "set()"


def test_a_refusal_of_the_kernel_is_an_error() -> None:
    """NLMSG_ERROR in place of a list: EPERM, as a sandbox may answer."""
    message = rtnetlink.request(2, 1, (-1).to_bytes(4, "little", signed=True) + bytes(16))
    dump = rtnetlink.Dump()
    buffer = memoryview(message + bytes(rtnetlink.SCRATCH))
    with pytest.raises(PermissionError):
        list(dump.every(buffer, len(message)))
    assert dump.done
