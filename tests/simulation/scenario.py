"""A scenario: a node with its configuration, and what happens to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Network
from typing import TYPE_CHECKING, Any

from simulation.disk import NODE_FILES
from simulation.faults import Fault
from simulation.keyfile import DIRECTORY, Settings, rendered
from simulation.process import SETTINGS
from simulation.wire import GATEWAY6, TAKEN, UNUSED, Segment

if TYPE_CHECKING:
    from simulation.world import World

MAC, OTHER_MAC = "52:54:00:00:00:01", "52:54:00:00:00:02"
ADDRESS, GATEWAY = IPv4Interface("192.0.2.5/24"), IPv4Address("192.0.2.1")
OTHER_ADDRESS, OTHER_GATEWAY = IPv4Interface("198.51.100.5/24"), IPv4Address("198.51.100.1")
PREFIX6 = IPv6Network("2001:db8::/64")
VIPS = ("192.0.2.100", "192.0.2.101")


@dataclass(frozen=True, slots=True)
class Node:
    """How a node is configured. *file*: what its node file asks for."""

    profile: str
    second_nic: str
    """``isolated``: on a LAN with a DHCP server, ``routed``: and a gateway, ``silent``: without a server; else none.

    ``spare``: on the LAN of the first one, without a configuration.
    """
    file: str
    of_host: bool
    ovn: bool
    vips: bool
    on_failure: str
    families: str
    short_lease: bool
    kernel_datapath: bool
    named_after: float
    """Seconds until the host has a name; until then it is ``localhost``."""
    nonlocal_bind: bool
    ipv6: str = ""
    """``router``: one announces a prefix; ``dhcp``: the same, and a DHCPv6 server gives addresses.

    ``only``: a router, without DHCP for IPv4; ``static``: beside IPv4.
    """
    uplink: str = ""
    """``bond`` over two NICs or ``vlan`` on one; else the first NIC itself."""
    extra_bridge: bool = False
    """Whether the second NIC is to be below br-ex1."""
    unit: str = ""
    """A stage that a unit does."""
    hosted: bool = False
    """Whether it has hosted services, and a DNS server of its own; with VIPs only."""
    resolved: bool = False
    """Whether systemd-resolved runs."""

    @property
    def file_name(self) -> str:
        """The name of its node file."""
        return "worker-0.yml" if self.of_host else "cluster.yml"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run."""

    seed: int
    node: Node
    faults: tuple[Fault, ...]
    healed_after: float = 400.0
    """Seconds; from then on the world is fair."""


def to_json(scenario: Scenario, why: str) -> str:
    """Return a scenario as it is kept once it has failed: what a seed means changes with the world."""
    return json.dumps({"why": why, **asdict(scenario)}, indent=1) + "\n"


def from_json(text: str) -> tuple[Scenario, str]:
    """Return a scenario that was kept, and why."""
    fields = json.loads(text)
    faults = tuple(Fault(**fault) for fault in fields["faults"])
    return Scenario(fields["seed"], Node(**fields["node"]), faults, fields["healed_after"]), fields["why"]


def prepare(world: World, node: Node) -> None:
    """Put the node's configuration on its disk, and its cables into their sockets."""
    _connect(world, node)
    world.is_static = node.profile == "static"
    world.ovs.has_datapath = node.kernel_datapath
    world.ovs.numbered = node.second_nic == "spare"
    world.vips = frozenset(map(IPv4Address, VIPS)) if node.vips else frozenset()
    content = world.disk.content
    if node.named_after:
        world.name_after(node.named_after)
    elif node.unit == "hostname":
        world.static_name, world.transient_name = "", "localhost"
    else:
        content["/etc/hostname"] = b"worker-0\n"
    world.kernel.nonlocal_bind = node.nonlocal_bind
    world.dns_answers, world.resolved = node.hosted, node.resolved
    content[SETTINGS] = settings_text(node).encode()
    for settings in profiles(node):
        name = settings["connection"]["id"]
        content[f"{DIRECTORY}/{name}.nmconnection"] = b"# of the installer\n" + rendered(settings)
    if node.file:
        content[f"{NODE_FILES}/{node.file_name}"] = node_file(node.file).encode()
    if node.extra_bridge:
        content["/etc/ovnk/extra_bridge"] = b"eth1\n"
    content["/etc/resolv.conf"] = b"nameserver 192.0.2.1\n"


def _connect(world: World, node: Node) -> None:
    lan = Segment(GATEWAY, ADDRESS, seconds=120.0 if node.short_lease else 3600.0, hosts=frozenset({TAKEN}))
    if node.ipv6:
        lan.prefix6, lan.managed = PREFIX6, node.ipv6 == "dhcp"
    if node.ipv6 == "only":
        lan.gateway = lan.lease = None
    world.nics[MAC], world.wire.segments[MAC] = "eth0", lan
    if node.uplink == "vlan":
        world.made_uplink = "eth0.10"
        world.wire.segments[MAC], world.wire.tagged[MAC] = Segment(None, None), lan
    elif node.uplink == "bond":
        world.made_uplink = "bond0"
        world.nics[OTHER_MAC], world.wire.segments[OTHER_MAC] = "eth1", lan
    elif node.second_nic == "spare":
        world.nics[OTHER_MAC], world.wire.segments[OTHER_MAC] = "eth1", lan
    elif node.second_nic == "routed":
        world.nics[OTHER_MAC], world.wire.segments[OTHER_MAC] = "eth1", Segment(OTHER_GATEWAY, OTHER_ADDRESS)
    elif node.second_nic:
        lease = OTHER_ADDRESS if node.second_nic == "isolated" else None
        world.nics[OTHER_MAC], world.wire.segments[OTHER_MAC] = "eth1", Segment(None, lease, routed=False)


def settings_text(node: Node) -> str:
    lines = [f'on_failure = "{node.on_failure}"']
    lines += ['network_type = "OVNKubernetes"'] if node.ovn else []
    lines += [f'api_vips = ["{VIPS[0]}"]', f'ingress_vips = ["{VIPS[1]}"]'] if node.vips else []
    lines += [] if node.families == "auto" else ['families = ["ipv4"]']
    lines += ['platform = "baremetal"', 'cluster_domain = "c.example.com"'] if node.hosted else []
    lines += [f'[stages]\n{node.unit} = "unit:{node.unit}.service"'] if node.unit else []
    lines += ['[hosted]\nenabled = "auto"'] if node.hosted else []
    return "\n".join(lines) + "\n"


def profiles(node: Node) -> Iterator[Settings]:
    """Yield the profiles that the node was installed with."""
    ip = {"ipv4": _ipv4(node), "ipv6": _ipv6(node)}
    nothing = {"ipv4": {"method": "disabled"}, "ipv6": {"method": "disabled"}}
    if node.uplink == "bond":
        yield {"connection": _connection(1, "bond0", "bond"), "bond": {"options": {"mode": "active-backup"}}, **ip}
        for number, nic in ((2, "eth0"), (3, "eth1")):
            port = _connection(number, f"bond0-{nic}", "802-3-ethernet", nic)
            yield {"connection": {**port, "controller": "bond0", "port-type": "bond"}}
    elif node.uplink == "vlan":
        yield {"connection": _connection(1, "eth0.10", "vlan"), "vlan": {"parent": "eth0", "id": 10}, **ip}
        yield {"connection": _connection(2, "eth0", "802-3-ethernet"), **nothing}
    elif node.profile != "automatic":
        if node.second_nic == "spare":
            yield {"connection": _connection(2, "spare", "802-3-ethernet", "eth1"), **nothing}
        yield {"connection": _connection(1, "uplink", "802-3-ethernet", "eth0"), **ip}


def _connection(number: int, name: str, kind: str, link: str = "") -> dict[str, str]:
    uuid = f"b0000000-0000-4000-8000-{number:012}"
    return {"id": name, "uuid": uuid, "type": kind, "interface-name": link or name}


def _ipv4(node: Node) -> dict[str, Any]:
    if node.ipv6 == "only":
        return {"method": "disabled"}
    if node.profile != "static":
        return {"method": "auto"}
    addresses = [{"address": str(ADDRESS.ip), "prefix": ADDRESS.network.prefixlen}]
    return {"method": "manual", "address-data": addresses, "gateway": str(GATEWAY)}


def _ipv6(node: Node) -> dict[str, Any]:
    if not node.ipv6:
        return {"method": "disabled"}
    if node.ipv6 != "static":
        return {"method": "auto"}
    addresses = [{"address": "2001:db8::5", "prefix": 64}]
    return {"method": "manual", "address-data": addresses, "gateway": str(GATEWAY6)}


def node_file(kind: str) -> str:
    """Return a node file, in JSON, which is YAML too."""
    address = TAKEN if kind == "taken-address" else ADDRESS.ip
    static = {"enabled": True, "dhcp": False, "address": [{"ip": str(address), "prefix-length": 24}]}
    automatic = {"enabled": True, "dhcp": True}
    ipv6 = {"enabled": False}
    nic: dict[str, Any] = {"name": "eth0", "type": "ethernet", "state": "up", "ipv6": ipv6}
    document: dict[str, Any] = {"interfaces": [nic | {"ipv4": automatic}]}
    match kind:
        case "static" | "dead-gateway" | "taken-address":
            gateway = str(UNUSED if kind == "dead-gateway" else GATEWAY)
            route = {"destination": "0.0.0.0/0", "next-hop-address": gateway, "next-hop-interface": "eth0"}
            document = {"interfaces": [nic | {"ipv4": static}], "routes": {"config": [route]}}
            if kind == "static":
                document["dns-resolver"] = {"config": {"server": [str(GATEWAY)]}}
        case "other-lease":
            document = {"interfaces": [nic | {"ipv4": automatic | {"dhcp-client-id": "01:02:03"}}]}
        case "missing-nic":
            document = {"interfaces": [nic | {"name": "eth9", "ipv4": automatic}]}
        case "unknown-type":
            document = {"interfaces": [{"name": "t0", "type": "macsec", "state": "up"}]}
        case "bridge":
            ports = [{"name": "eth0"}, {"name": "br-ex"}]
            bridge = {"name": "br-ex", "type": "ovs-bridge", "state": "up", "bridge": {"port": ports}}
            inside = {"name": "br-ex", "type": "ovs-interface", "state": "up", "copy-mac-from": "eth0"}
            below = nic | {"ipv4": {"enabled": False}}
            document = {"interfaces": [below, bridge, inside | {"ipv4": automatic, "ipv6": ipv6}]}
        case "invalid":
            return "interfaces: [}\n"
        case "empty":
            return "# nothing yet\n"
        case "policy" | "policy-bridge":
            return policy(node_file("bridge" if kind == "policy-bridge" else "dhcp"))
    return json.dumps(document, indent=1) + "\n"


def policy(text: str) -> str:
    """Return the document *text* as an NMState policy: its NIC is the one with the default route."""
    captures = {
        "gateway": 'routes.running.destination=="0.0.0.0/0"',
        "uplink": "interfaces.name==capture.gateway.routes.running.0.next-hop-interface",
    }
    named = text.replace('"eth0"', '"{{ capture.uplink.interfaces.0.name }}"')
    return json.dumps({"capture": captures, "desiredState": json.loads(named)}, indent=1) + "\n"
