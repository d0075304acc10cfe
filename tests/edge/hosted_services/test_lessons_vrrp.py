"""Lessons for VIPs: what users of such stacks have reported, against the real keepalived, nft and kernel.

Each test names where the problem was reported in public.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from edge.hosted_services.lesson_world import cluster, need, until
from edge.namespace import Namespace
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES, guard_rules, router_ids
from nodenet.core.hosted_services.model import Inputs, Purpose, Service
from nodenet.core.hosted_services.plan import plan, release_batch
from nodenet.edge.hosted_services.units import Processes

VIP, VIP6 = "192.0.2.2", "2001:db8::2"
UNIT = Path(__file__).parents[3] / "units" / "nodenet-keepalived.service"


class Member:
    """A node of the cluster: its namespace, and keepalived with the configuration that nodenet makes for it."""

    def __init__(self, directory: Path, inputs: Inputs, weight: int = 25) -> None:
        self.inputs = inputs
        self.plan = plan(inputs)
        self.space = Namespace()
        self.directory = directory
        directory.mkdir()
        text = self.plan.texts[Service.KEEPALIVED]
        for path in (*WEIGHT_FILES.values(), *MUTE_FILES.values()):
            text = text.replace(path, str(directory / Path(path).name))
            (directory / Path(path).name).write_text("0\n")
        self.weigh(weight)
        (directory / "keepalived.conf").write_text(text)
        (directory / "release.ip").write_text(release_batch(self.plan))
        self.space.sysctl("net/ipv6/conf/default/accept_dad", 0)
        for link in ("all", "default"):
            self.space.sysctl(f"net/ipv4/conf/{link}/promote_secondaries", 1)  # as systemd sets it
        self.program: subprocess.Popen[bytes] | None = None

    def weigh(self, number: int) -> None:
        (self.directory / "api-weight").write_text(f"{number}\n")

    @property
    def node_ips(self) -> list[str]:
        return [f"{place.address}/{place.network.prefixlen}" for place in self.inputs.here.places.values()]

    def plug(self) -> None:
        self.space.ip("link set lo up", "link set eth0 up", *(f"address add {one} dev eth0" for one in self.node_ips))

    def guard(self) -> None:
        text = guard_rules(self.inputs, self.plan.vips)
        subprocess.run([*self.space._prefix, "nft", "-f", "-"], input=text, text=True, check=True)

    def start(self) -> None:
        """Start keepalived with the options of its unit."""
        (line,) = (line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart="))
        words = [word for word in line.partition(" ")[2].split() if word.startswith("--dont") or word == "--vrrp"]
        files = [f"--{kind}={self.directory}/{kind}.pid" for kind in ("pid", "vrrp_pid")]
        use = f"--use-file={self.directory}/keepalived.conf"
        command = [*self.space._prefix, "keepalived", *words, "--log-console", use, *files]
        with (self.directory / "log").open("ab") as log:
            self.program = subprocess.Popen(command, stdout=log, stderr=log)

    def holds(self, vip: str = VIP) -> bool:
        return f"'{vip}'" in str(self.space.ip_json("address show dev eth0"))

    @property
    def pids(self) -> list[int]:
        assert self.program is not None
        children = Path(f"/proc/{self.program.pid}/task/{self.program.pid}/children").read_text().split()
        return [self.program.pid, *map(int, children)]

    def source(self, to: str = "192.0.2.99") -> str:
        """Return the address that a connection to another host has."""
        return str(self.space.ip_json(f"route get {to}")[0]["prefsrc"])

    def close(self) -> None:
        if self.program is not None and self.program.poll() is None:
            for pid in self.pids:
                os.kill(pid, signal.SIGCONT)
            self.program.terminate()
            self.program.wait()
        self.space.close()


@contextmanager
def members(
    directory: Path, count: int = 2, *, vips: tuple[str, ...] = (VIP,), guard: bool = True, platform: str = "baremetal"
) -> Iterator[tuple[Namespace, list[Member]]]:
    """Yield a switch, which is a namespace with a bridge, and nodes of which the first one holds the VIPs."""
    need("keepalived", "nft")
    with ExitStack() as opened:
        lan = Namespace()
        opened.callback(lan.close)
        lan.ip("link set lo up", "link add br0 type bridge", "link set br0 up", "address add 192.0.2.250/24 dev br0")
        made = []
        for number, inputs in enumerate(cluster(count, vips=vips, platform=platform)):
            member = Member(directory / str(number), inputs)
            opened.callback(member.close)
            made.append(member)
            lan.ip(f"link add p{number} type veth peer name eth0 netns {member.space._holder.pid}")
            lan.ip(f"link set p{number} master br0 up")
            member.plug()
            if guard:
                member.guard()
        made[0].start()
        until(lambda: all(map(made[0].holds, vips)), "the first node to hold them")
        for member in made[1:]:
            member.start()
        time.sleep(1.5)  # longer than three intervals
        for vip in vips:
            assert [member.holds(vip) for member in made] == [True] + [False] * (count - 1), vip
        yield lan, made


def checksum(octets: bytes) -> int:
    total = sum(int.from_bytes(octets[at : at + 2]) for at in range(0, len(octets), 2))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def advert(source: str, to: str, priority: int, ttl: int) -> bytes:
    """Return an advertisement of VRRPv3 for the API's VIP, with its IP header."""
    ends = socket.inet_aton(source) + socket.inet_aton(to)
    head = struct.pack("!BBBBH", 0x31, router_ids("c1")[Purpose.API], priority, 1, 25)
    vip = socket.inet_aton(VIP)
    body = head + struct.pack("!H", checksum(ends + struct.pack("!HH", 112, 12) + head + bytes(2) + vip)) + vip
    return struct.pack("!BBHHHBBH", 0x45, 0xC0, 0, 0, 0, ttl, 112, 0) + ends + body


def send(host: Namespace, packets: list[bytes], to: str, pause: float) -> None:
    def sent() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as line:
            for packet in packets:
                line.sendto(packet, (to, 0))
                time.sleep(pause)

    host.call(sent)


def moves_while(nodes: list[Member], act: Callable[[], None]) -> bool:
    """Return whether a second node got the VIP, or the first one lost it, during and after *act*."""
    act()
    seen = []
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        seen.append([node.holds() for node in nodes])
        time.sleep(0.05)
    return any(one != seen[0] for one in seen) or seen[0] != [True] + [False] * (len(nodes) - 1)


def test_the_vip_is_never_the_source_of_a_connection(tmp_path: Path) -> None:
    """With the prefix of the subnet it became the primary address (keepalived#2183): its holder spoke as the VIP."""
    with members(tmp_path) as (_, (holder, _other)):
        (node_ip,) = holder.node_ips
        holder.space.ip(f"address delete {node_ip} dev eth0")
        time.sleep(0.3)
        holder.space.ip(f"address add {node_ip} dev eth0")
        until(holder.holds, "the VIP to be there")
        assert holder.source() == node_ip.partition("/")[0]
        routes = holder.space.ip_json("route show")
        assert {route.get("prefsrc") for route in routes} == {node_ip.partition("/")[0]}


def test_a_vip_outlives_the_address_beside_it(tmp_path: Path) -> None:
    """Without promote_secondaries the kernel removes all other addresses of the subnet (keepalived#442)."""
    with members(tmp_path) as (_, (holder, _other)):
        for link in ("all", "eth0"):
            holder.space.sysctl(f"net/ipv4/conf/{link}/promote_secondaries", 0)
        (node_ip,) = holder.node_ips
        holder.space.ip(f"address delete {node_ip} dev eth0")
        assert holder.holds()


def test_a_lost_lease_that_comes_back_leaves_the_node_ip_the_source(tmp_path: Path) -> None:
    """The lease ends, the VIP stays for some seconds, and the new address comes (keepalived#2183)."""
    with members(tmp_path) as (_, (holder, _other)):
        (node_ip,) = holder.node_ips
        holder.space.ip(f"address change {node_ip} dev eth0 valid_lft 1 preferred_lft 1")
        until(lambda: node_ip.partition("/")[0] not in str(holder.space.ip_json("address show dev eth0")), "its end")
        holder.space.ip(f"address add {node_ip} dev eth0 valid_lft 600 preferred_lft 600")
        assert holder.holds()
        assert holder.source() == node_ip.partition("/")[0]


@pytest.mark.parametrize("guard", [True, False], ids=["guarded", "without the guard"])
def test_a_packet_that_a_router_has_passed_on_moves_no_vip(tmp_path: Path, guard: bool) -> None:  # noqa: FBT001
    """In unicast mode keepalived takes any TTL (keepalived#941): one packet of a pod took the VIP from its holder."""
    with members(tmp_path, guard=guard) as (lan, nodes):
        packets = [advert("192.0.2.12", "192.0.2.11", 255, 63)] * 6
        assert moves_while(nodes, lambda: send(lan, packets, "192.0.2.11", 0.1)) is not guard


def test_a_host_that_is_no_peer_moves_no_vip(tmp_path: Path) -> None:
    """keepalived 2.2 logs "not a unicast peer", and each such packet restarts the holder's timer."""  # noqa: D403
    with members(tmp_path) as (lan, nodes):
        packets = [advert("192.0.2.250", "192.0.2.11", 255, 255)] * 40
        assert not moves_while(nodes, lambda: send(lan, packets, "192.0.2.11", 0.1))


def test_a_power_cut_of_the_holder_costs_about_a_second(tmp_path: Path) -> None:
    """With one second between two advertisements it was three and a half (RFC 5798, 6.1)."""
    with members(tmp_path) as (lan, (holder, other)):
        assert holder.inputs.options.advert_interval == 0.25
        lan.ip("link set p0 down")
        began = time.monotonic()
        until(other.holds, "the other node to hold it")
        took = time.monotonic() - began
        assert took <= 1.2 + 0.3, "and what this machine adds"


@pytest.mark.parametrize("which", ["all", "child"])
def test_a_keepalived_that_is_killed_leaves_no_vip_behind(tmp_path: Path, which: str) -> None:
    """The node that had it and the next one answered for it, for good (machine-config-operator#2511)."""
    with members(tmp_path) as (_, (holder, other)):
        parent, *children = holder.pids
        for pid in (*children, parent) if which == "all" else children:
            os.kill(pid, signal.SIGKILL)
        assert holder.program is not None
        holder.program.wait(5)  # it ends with its child, so that systemd runs ExecStopPost
        assert holder.holds() or which == "child"
        line, _guard = (one for one in UNIT.read_text().splitlines() if one.startswith("ExecStopPost="))
        words = line.partition("=-")[2].replace("/run/nodenet/hosted", str(holder.directory)).split()
        subprocess.run([*holder.space._prefix, *words], check=True)
        assert not holder.holds()
        until(other.holds, "the other node to hold it")


def test_a_vip_of_an_earlier_life_goes_before_keepalived_starts(tmp_path: Path) -> None:
    """Also with the prefix of a subnet, and on another link (machine-config-operator#2511, #3445)."""
    with members(tmp_path) as (_, (_holder, other)):
        other.space.ip("link add old type bridge", f"address add {VIP}/24 dev old")
        line, _guard = (one for one in UNIT.read_text().splitlines() if one.startswith("ExecStartPre="))
        words = line.partition("=-")[2].replace("/run/nodenet/hosted", str(other.directory)).split()
        subprocess.run([*other.space._prefix, *words], check=True)
        assert f"'{VIP}'" not in str(other.space.ip_json("address show"))
        assert "192.0.2.12" in str(other.space.ip_json("address show")), "and nothing else"


def test_a_keepalived_that_hangs_is_seen_by_its_rest(tmp_path: Path) -> None:
    """It holds the VIP, its peers elect another holder, and both answer (keepalived#1847 describes such a pair)."""
    with members(tmp_path) as (_, (holder, _other)):
        tree = tmp_path / "tree" / "system.slice" / "nodenet-keepalived.service"
        tree.mkdir(parents=True)
        (tree / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in holder.pids))
        processes = Processes("nodenet-keepalived.service", tmp_path / "tree")
        before = processes.switches()
        time.sleep(1)
        assert processes.switches() > before > 0, "it sends four advertisements a second"
        for pid in holder.pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.1)
        before = processes.switches()
        time.sleep(1)
        assert processes.switches() == before


def test_a_reload_keeps_the_vip_where_it_is(tmp_path: Path) -> None:
    """A node joins, and each holder reads its new list of peers (keepalived(8), SIGHUP)."""
    with members(tmp_path) as (_, nodes):

        def reload() -> None:
            assert nodes[0].program is not None
            nodes[0].program.send_signal(signal.SIGHUP)

        assert not moves_while(nodes, reload)


def test_the_lower_weight_gives_the_vip_away_at_once(tmp_path: Path) -> None:
    """haproxy of the holder is dead: its number falls by 20, and no script has run."""  # noqa: D403
    with members(tmp_path) as (_, (holder, other)):
        holder.weigh(5)
        until(other.holds, "the other node to hold it")
        until(lambda: not holder.holds(), "the first node to give it up")


@pytest.mark.parametrize("platform", ["openstack", "baremetal"])
def test_on_openstack_both_families_move_together(tmp_path: Path, platform: str) -> None:
    """A port of Neutron answers for the VIPs of both families or of none (OpenStack's VIPs in sync groups)."""
    with members(tmp_path, vips=(VIP, VIP6), platform=platform) as (_, (holder, other)):
        (holder.directory / "api-ipv6-mute").write_text("-254\n")
        until(lambda: other.holds(VIP6), "the VIP of IPv6 to move")
        if platform == "openstack":
            until(lambda: other.holds(VIP) and not holder.holds(VIP), "the VIP of IPv4 to follow")
            assert not holder.holds(VIP6)
        else:
            time.sleep(1)
            assert holder.holds(VIP), "elsewhere each family is judged for itself"


def test_three_nodes_never_have_two_holders_while_one_is_drained(tmp_path: Path) -> None:
    """A planned leave: the lowest priority that still speaks, and the next node takes it (kube-vip#665)."""
    with members(tmp_path, 3) as (_, nodes):
        nodes[0].weigh(-39)
        until(lambda: any(node.holds() for node in nodes[1:]), "a successor")
        until(lambda: sum(node.holds() for node in nodes) == 1, "one holder")
        assert not nodes[0].holds()
