"""What a seed means: a node with its configuration, and what happens to it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address, IPv4Interface
from random import Random
from typing import TYPE_CHECKING, Any

from simulation.faults import KINDS, POINTS, Fault
from simulation.keyfile import DIRECTORY, rendered
from simulation.process import SETTINGS
from simulation.wire import Segment

if TYPE_CHECKING:
    from simulation.world import World

MAC, OTHER_MAC = "52:54:00:00:00:01", "52:54:00:00:00:02"
ADDRESS, GATEWAY = IPv4Interface("192.0.2.5/24"), IPv4Address("192.0.2.1")
OTHER_ADDRESS = IPv4Interface("198.51.100.5/24")
VIPS = ("192.0.2.100", "192.0.2.101")
NODE_FILES = "/etc/nmstate/openshift"


@dataclass(frozen=True, slots=True)
class Node:
    """How a node is configured. *file*: what its node file asks for."""

    profile: str
    second_nic: str
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


def scenario_of(seed: int) -> Scenario:
    """Return what *seed* means."""
    random = Random(seed)  # noqa: S311  (nothing secret)
    node = Node(
        profile=random.choice(["automatic", "dhcp", "static"]),
        second_nic=random.choice(["", "", "isolated", "silent"]),
        file=random.choice(["", "", "", "dhcp", "static", "bridge", "missing-nic", "invalid", "unknown-type", "empty"]),
        of_host=random.random() < 0.7,
        ovn=random.random() < 0.8,
        vips=random.random() < 0.3,
        on_failure="wait" if random.random() < 0.2 else "degrade",
        families=random.choice(["auto", "ipv4"]),
        short_lease=random.random() < 0.15,
        kernel_datapath=random.random() < 0.9,
        named_after=round(random.uniform(5.0, 100.0), 1) if random.random() < 0.15 else 0.0,
        nonlocal_bind=random.random() < 0.15,
    )
    number = random.choice([0, 1, 1, 2, 2, 3, 4, 6])
    healed = random.choice([100.0, 200.0, 400.0])
    # A few kinds, again and again: two that have to meet would hardly do so among all of them.
    kinds = random.sample(sorted(KINDS), random.choice([1, 2, 2, 3, 5]))
    return Scenario(seed, node, tuple(_fault(random, kinds, healed) for _ in range(number)), healed)


def _fault(random: Random, kinds: list[str], healed: float) -> Fault:
    kind = random.choice(kinds)
    point = random.choice(POINTS) if random.random() < 0.6 else ""
    nth = min(int(random.expovariate(0.35)) + 1, 30)
    at = random.uniform(0.0, 0.5) if point else random.choice([random.uniform(0, 10), random.uniform(0, healed / 2)])
    lasts = random.choice([0.5, 3.0, 20.0, 90.0, 380.0])
    return Fault(kind, point, nth, round(at, 3), lasts, round(random.random(), 3))


def prepare(world: World, node: Node) -> None:
    """Put the node's configuration on its disk, and its cables into their sockets."""
    world.nics[MAC] = "eth0"
    world.wire.segments[MAC] = Segment(GATEWAY, ADDRESS, seconds=120.0 if node.short_lease else 3600.0)
    if node.second_nic:
        world.nics[OTHER_MAC] = "eth1"
        lease = OTHER_ADDRESS if node.second_nic == "isolated" else None
        world.wire.segments[OTHER_MAC] = Segment(None, lease, routed=False)
    world.is_static = node.profile == "static"
    world.ovs.has_datapath = node.kernel_datapath
    world.vips = frozenset(map(IPv4Address, VIPS)) if node.vips else frozenset()
    content = world.disk.content
    if node.named_after:
        world.name_after(node.named_after)
    else:
        content["/etc/hostname"] = b"worker-0\n"
    world.kernel.nonlocal_bind = node.nonlocal_bind
    content[SETTINGS] = settings_text(node).encode()
    if node.profile != "automatic":
        content[f"{DIRECTORY}/uplink.nmconnection"] = b"# of the installer\n" + rendered(uplink(node))
    if node.file:
        name = "worker-0" if node.of_host else "cluster"
        content[f"{NODE_FILES}/{name}.yml"] = node_file(node.file).encode()
    content["/etc/resolv.conf"] = b"nameserver 192.0.2.1\n"


def settings_text(node: Node) -> str:
    lines = [f'on_failure = "{node.on_failure}"']
    lines += ['network_type = "OVNKubernetes"'] if node.ovn else []
    lines += [f'api_vips = ["{VIPS[0]}"]', f'ingress_vips = ["{VIPS[1]}"]'] if node.vips else []
    lines += [] if node.families == "auto" else ['families = ["ipv4"]']
    return "\n".join(lines) + "\n"


def uplink(node: Node) -> dict[str, dict[str, Any]]:
    connection = {"id": "uplink", "uuid": "b0000000-0000-4000-8000-000000000001", "type": "802-3-ethernet"}
    ipv4: dict[str, Any] = {"method": "auto"}
    if node.profile == "static":
        addresses = [{"address": str(ADDRESS.ip), "prefix": ADDRESS.network.prefixlen}]
        ipv4 = {"method": "manual", "address-data": addresses, "gateway": str(GATEWAY)}
    return {"connection": connection | {"interface-name": "eth0"}, "ipv4": ipv4, "ipv6": {"method": "disabled"}}


def node_file(kind: str) -> str:
    """Return a node file, in JSON, which is YAML too."""
    static = {"enabled": True, "dhcp": False, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}
    automatic = {"enabled": True, "dhcp": True}
    ipv6 = {"enabled": False}
    nic: dict[str, Any] = {"name": "eth0", "type": "ethernet", "state": "up", "ipv6": ipv6}
    document: dict[str, Any] = {"interfaces": [nic | {"ipv4": automatic}]}
    match kind:
        case "static":
            route = {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0"}
            document = {"interfaces": [nic | {"ipv4": static}], "routes": {"config": [route]}}
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
    return json.dumps(document, indent=1) + "\n"
