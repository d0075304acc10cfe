"""Which hosts do install-config and BareMetalHosts have, and which networks and VIPs has the cluster?"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from nodenet.core.day_one.links import child, items
from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.node_file.finding import shown
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar
from nodenet.core.value import frozen

PLATFORMS_WITH_VIPS = ("baremetal", "vsphere", "openstack", "nutanix")
INSTALL_CONFIG_HOSTS = ("platform", "baremetal", "hosts")
_DEEPEST = 40


@frozen
class Host:
    """One host, the file that has it, and the places of its parts."""

    name: Scalar
    file: str
    entry: Block
    mac: Node | None
    network_config: Node | None = None
    secret: Scalar | None = None


@frozen
class Cluster:
    """What install-config says about the whole cluster."""

    file: str
    document: Block
    platform: str = ""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    api_vips: tuple[IPv4Address | IPv6Address, ...] = ()
    ingress_vips: tuple[IPv4Address | IPv6Address, ...] = ()
    hosts: tuple[Host, ...] = ()


def cluster_of(file: str, tree: Node | None) -> tuple[Cluster | None, list[Found]]:
    """Return what install-config says, as far as it can be read, and what is wrong with its structure."""
    if not isinstance(tree, Block) or tree.is_list:
        said = "not an install-config: its first level has no keys such as platform", "Name the right file"
        line, column = (tree.line, tree.column) if tree else (0, 0)
        return None, [Found(Rule.SHAPE, file, *said, line, column)]
    found = list(doubled(file, tree))
    platform = child(tree, "platform")
    if not isinstance(platform, Block) or not platform.entries:
        said = "install-config has no `platform`", "Name the right file, or add `platform`"
        return None, [*found, Found(Rule.SHAPE, file, *said, tree.line, tree.column)]
    name, section = platform.entries[0][0].text, platform.entries[0][1]
    networks, wrong = _networks(file, tree)
    vips: dict[str, tuple[IPv4Address | IPv6Address, ...]] = {}
    for kind in ("api", "ingress"):
        vips[kind], more = _vips(file, section, name, kind)
        wrong += more
    hosts, more = _hosts(file, tree)
    return Cluster(file, tree, name, networks, vips["api"], vips["ingress"], hosts), [*found, *wrong, *more]


def doubled(file: str, node: Node, path: str = "", depth: int = 0) -> Iterator[Found]:
    """Yield the keys that one mapping has two times."""
    if isinstance(node, Scalar) or depth > _DEEPEST:
        return
    for key, first in node.doubled:
        said = f"the key {shown(key.text)} is there twice, first in line {first}", "Keep one of the two"
        yield Found(Rule.KEY_TWICE, file, *said, key.line, key.column, f"{path}.{key.text}".lstrip("."))
    for number, item in enumerate(node.items):
        yield from doubled(file, item, f"{path}[{number}]", depth + 1)
    for key, value in node.entries:
        yield from doubled(file, value, f"{path}.{key.text}".lstrip("."), depth + 1)


def _networks(file: str, tree: Block) -> tuple[tuple[IPv4Network | IPv6Network, ...], list[Found]]:
    networks, found = [], []
    listed = [child(item, "cidr") for item in items(tree, "networking", "machineNetwork")]
    for node in (*listed, child(tree, "networking", "machineCIDR")):
        if not isinstance(node, Scalar):
            continue
        try:
            networks.append(ip_network(node.text))
        except ValueError:
            said = "this is not a subnet", "Write one such as 192.0.2.0/24, without bits of a host"
            found.append(at(Rule.SHAPE, file, node, "networking.machineNetwork", said))
    return tuple(networks), found


def _vips(
    file: str, section: Node, platform: str, kind: str
) -> tuple[tuple[IPv4Address | IPv6Address, ...], list[Found]]:
    vips, found = [], []
    if platform not in PLATFORMS_WITH_VIPS:
        return (), []
    for node in (*items(section, f"{kind}VIPs"), child(section, f"{kind}VIP")):
        if not isinstance(node, Scalar) or not node.text:
            continue
        try:
            vips.append(ip_address(node.text))
        except ValueError:
            said = "this is not an IP address", "Write one such as 192.0.2.5"
            found.append(at(Rule.SHAPE, file, node, f"platform.{platform}.{kind}VIPs", said))
    return tuple(dict.fromkeys(vips)), found


def _hosts(file: str, tree: Block) -> tuple[tuple[Host, ...], list[Found]]:
    listed = child(tree, *INSTALL_CONFIG_HOSTS)
    if listed is None:
        return (), []
    if not isinstance(listed, Block) or not listed.is_list:
        said = "a list of hosts was expected", "Write each host in lines of its own that begin with `- name:`"
        return (), [at(Rule.SHAPE, file, listed, ".".join(INSTALL_CONFIG_HOSTS), said)]
    hosts, found = [], []
    for number, entry in enumerate(listed.items):
        path = f"{'.'.join(INSTALL_CONFIG_HOSTS)}[{number}]"
        name = child(entry, "name")
        if not isinstance(entry, Block) or not isinstance(name, Scalar) or not name.text:
            said = "the host has no name", "Add `name`"
            found.append(Found(Rule.SHAPE, file, *said, entry.line, entry.column, path))
            continue
        hosts.append(Host(name, file, entry, entry.get("bootMACAddress"), entry.get("networkConfig")))
    return tuple(hosts), found


def bare_metal_hosts(file: str, documents: list[Block]) -> tuple[tuple[Host, ...], list[Found]]:
    """Return the BareMetalHosts among the *documents*, and what is wrong with their structure."""
    hosts, found = [], []
    for document in documents:
        if text(document, "kind") != "BareMetalHost":
            continue
        name = child(document, "metadata", "name")
        spec = document.get("spec")
        if not isinstance(name, Scalar) or not name.text:
            said = "the BareMetalHost has no name", "Add `metadata.name`"
            found.append(Found(Rule.SHAPE, file, *said, document.line, document.column))
            continue
        secret = child(spec, "preprovisioningNetworkDataName")
        mac = child(spec, "bootMACAddress")
        hosts.append(Host(name, file, document, mac, None, secret if isinstance(secret, Scalar) else None))
    return tuple(hosts), found
