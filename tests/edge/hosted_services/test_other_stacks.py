"""The look at other stacks: real sockets of this host, and a tree of control groups that changes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, ip_address
from pathlib import Path

import pytest

from edge.hosted_services.test_wire import MACS, hosts, pytestmark
from edge.namespace import Namespace
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.sock_diag import TCP
from nodenet.edge.hosted_services.other_stacks import OtherStacks, Rivals, Sockets, waiting

STRANGER = 65533


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_only_the_sockets_on_the_ports_in_question_are_listed() -> None:
    """Any user may have thousands on other ports: the look met a refusal of the kernel's, and DNS was left alone."""
    with listening() as one, listening() as two, listening():
        ports = [server.getsockname()[1] for server in (one, two)]
        assert sorted(found.port for found in waiting(TCP, ports)) == sorted(ports)
        assert [str(found.address) for found in waiting(TCP, ports[:1])] == ["127.0.0.1"]
        assert list(waiting(TCP, ())) == []


def test_udp_sockets_have_their_makers_and_those_with_a_peer_are_left_out() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        (found,) = Sockets().udp((port,))
        assert (str(found.address), found.uid, found.only_ipv6) == ("127.0.0.1", os.getuid(), False)
        assert Sockets().udp((client.getsockname()[1],)) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's socket needs root")
def test_the_socket_of_another_user_beside_one_of_root_is_seen() -> None:
    """Both may be bound where both have SO_REUSEADDR: the last one gets the questions (socket(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(("127.0.0.1", 0))
        port = ours.getsockname()[1]
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(STRANGER)
            theirs = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            theirs.bind(("127.0.0.1", port))
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        try:
            assert {one.uid for one in Sockets().udp((port,))} == {0, STRANGER}
        finally:
            os.write(done[1], b"x")
            os.waitpid(child, 0)


def test_a_server_of_dns_by_udp_alone_is_seen_on_dns_s_own_port_only() -> None:
    """On a port above 1023 any user may have one, and it is in no way of a balancer by TCP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        assert OtherStacks().look((), (server.getsockname()[1],)).listeners == ()


GROUPS = 300


def test_groups_that_come_and_go_end_no_look(tmp_path: Path) -> None:
    """A pod that ends removes its control groups; a listing of them in that moment raised FileNotFoundError."""

    def make() -> None:
        for number in range(0, GROUPS, 3):
            (tmp_path / f"a.slice/b{number}/c/d").mkdir(parents=True, exist_ok=True)

    for number in range(GROUPS):
        (tmp_path / f"a.slice/b{number}/c/d").mkdir(parents=True)
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            for number in range(0, GROUPS, 3):
                shutil.rmtree(tmp_path / f"a.slice/b{number}")
            make()

    stacks = OtherStacks(groups=tmp_path)
    known = (tmp_path / "a.slice/b1/c").stat().st_ino
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        found = [stacks._programs({1, known}) for _ in range(10)]
    finally:
        over.set()
        thread.join()
    assert found == [{known: "c"}] * 10


def test_the_name_of_a_group_writes_no_line(tmp_path: Path) -> None:
    """Users make control groups of their own below user.slice, and the name goes to the journal."""
    group = tmp_path / "user.slice" / "a\nReady\x1b[2J"
    group.mkdir(parents=True)
    number = group.stat().st_ino
    assert OtherStacks(groups=tmp_path)._programs({number}) == {number: "'a\\nReady\\x1b[2J'"}


class Counting(OtherStacks):
    """Counts the searches for the names of groups."""

    searches = 0

    def _programs(self, groups: set[int]) -> Mapping[int, str]:
        self.searches += 1
        return super()._programs(groups)


def test_hundreds_of_sockets_of_a_user_cost_one_search() -> None:
    """Each of them was looked for in the whole tree: nodenet-hosted did nothing else for minutes."""
    stacks = Counting()
    with contextlib.ExitStack() as opened:
        first = opened.enter_context(socket.create_server(("127.0.0.1", 0), reuse_port=True))
        port = first.getsockname()[1]
        for _ in range(299):
            opened.enter_context(socket.create_server(("127.0.0.1", port), reuse_port=True))
        found = stacks.look((), (port,))
    assert len(found.listeners) == 300
    assert stacks.searches == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a raw socket needs root")
def test_only_sockets_of_another_keepalived_speak_vrrp(tmp_path: Path) -> None:
    """Also while keepalived of ours runs: it has a user of its own, and no other program is one of that user's.

    A program that opens such a socket and sends nothing took the VIPs from the node, for as long as it ran.
    """
    unit = "nodenet-keepalived.service"
    (tmp_path / "groups" / "system.slice" / unit).mkdir(parents=True)
    (tmp_path / "proc" / "7").mkdir(parents=True)
    comm = tmp_path / "proc" / "7" / "comm"
    comm.write_text("python3\n")
    stacks = OtherStacks(groups=tmp_path / "groups", proc=tmp_path / "proc")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 112):
        assert stacks.look((unit,), ()).speakers == 0
        comm.write_text("keepalived\n")
        assert stacks.look((unit,), ()).speakers >= 1
    comm.unlink()
    assert stacks.look((unit,), ()).speakers == 0


__all__ = ["hosts", "pytestmark"]
OWN4, OWN6 = ip_address("192.0.2.11"), ip_address("2001:db8::11")


def rivals(host: Namespace, meanwhile: Callable[[], None] = lambda: None) -> Mapping[IPAddress, frozenset[str]]:
    def asked() -> Mapping[IPAddress, frozenset[str]]:
        watch = Rivals()
        watch.ask((OWN4, OWN6), "br0")
        meanwhile()
        time.sleep(0.3)
        return watch.heard()

    return host.call(asked)


def test_a_host_with_the_same_addresses_is_heard_in_both_families(hosts: dict[int, Namespace]) -> None:
    """This node itself, and hosts with other addresses, are not."""
    assert rivals(hosts[1]) == {}
    hosts[3].ip("address add 192.0.2.11/24 dev eth0", "address add 2001:db8::11/64 dev eth0 nodad")
    assert rivals(hosts[1]) == {OWN4: frozenset({MACS[3]}), OWN6: frozenset({MACS[3]})}


@pytest.mark.parametrize(("claimed", "heard"), [("192.0.2.11", True), ("192.0.2.99", False)])
def test_an_announcement_counts_as_a_claim(hosts: dict[int, Namespace], claimed: str, heard: bool) -> None:  # noqa: FBT001
    """A host may announce an address and answer no question; announcements of other addresses do not arrive."""
    address = IPv4Address(claimed).packed
    mac = bytes.fromhex(MACS[2].replace(":", ""))
    packet = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, mac, address, bytes(6), address)

    def announce() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
            line.bind(("eth0", 0))
            line.send(b"\xff" * 6 + mac + b"\x08\x06" + packet)

    found = rivals(hosts[1], lambda: hosts[2].call(announce))
    assert found == ({OWN4: frozenset({MACS[2]})} if heard else {})


def test_a_link_that_cannot_be_asked_has_no_rivals(hosts: dict[int, Namespace]) -> None:
    def asked() -> Mapping[IPAddress, frozenset[str]]:
        watch = Rivals()
        watch.ask((OWN4, OWN6), "none0")
        return watch.heard()

    assert hosts[1].call(asked) == {}
