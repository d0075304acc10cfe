"""What does install-config say of the cluster, and how do node files get into a MachineConfig and back?

The MachineConfig (machineconfiguration.openshift.io/v1) is written with fixed lines and base64, so that the same files
give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.day_one.links import child, items
from nodenet.core.day_one.reading import (
    TEXT,
    ArtefactInvalid,
    CarriedFile,
    checked_path,
    from_data_url,
    to_data_url,
    yaml_word,
)
from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.errors import SettingsInvalid
from nodenet.core.node_file.finding import shown
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar
from nodenet.core.node_ip.policy import parse_value
from nodenet.core.settings.parse import parse
from nodenet.core.value import frozen

# Which hosts do install-config and BareMetalHosts have, and which networks and VIPs has the cluster?

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


# How are files written into an Ignition configuration, and read back? (Ignition's specification, v3.2.0)

IGNITION_VERSION = "3.2.0"
_READ = "3."
"""Every version 3 has ``storage.files`` in this shape."""


def ignition_document(files: Iterable[CarriedFile]) -> dict[str, Any]:
    """Return the configuration with *files*, sorted by path; modes are decimal numbers there."""
    entries = [
        {
            "path": str(file.path),
            "mode": file.mode,
            "overwrite": True,
            "contents": {"source": to_data_url(file.content)},
        }
        for file in sorted(files, key=lambda file: file.path)
    ]
    return {"ignition": {"version": IGNITION_VERSION}, "storage": {"files": entries}}


def render_ignition(files: Iterable[CarriedFile]) -> str:
    """Return the configuration as JSON, the same bytes for the same files."""
    return json.dumps(ignition_document(files), indent=2) + "\n"


def files_in_ignition(found: object, place: str = "$") -> tuple[CarriedFile, ...]:
    """Return the files of a configuration, as JSON or YAML values. Raises ArtefactInvalid naming the place."""
    version = _mapping(_mapping(found, place).get("ignition"), f"{place}.ignition").get("version")
    if not isinstance(version, str) or not version.startswith(_READ):
        raise ArtefactInvalid(f"{place}.ignition.version is {version!a}; versions 3.x are read")
    storage = _mapping(_mapping(found, place).get("storage") or {}, f"{place}.storage")
    entries = storage.get("files") or []
    if not isinstance(entries, list):
        raise ArtefactInvalid(f"{place}.storage.files is not a list")
    files = tuple(_file(entry, f"{place}.storage.files[{i}]") for i, entry in enumerate(entries))
    seen: set[PurePosixPath] = set()
    for file in files:
        if file.path in seen:
            raise ArtefactInvalid(f"{place}.storage.files has {file.path} twice")
        seen.add(file.path)
    return files


def _file(entry: object, place: str) -> CarriedFile:
    found = _mapping(entry, place)
    contents = _mapping(found.get("contents") or {}, f"{place}.contents")
    if contents.get("compression"):
        raise ArtefactInvalid(f"{place}.contents.compression is {contents['compression']!a}; write it uncompressed")
    mode = found.get("mode", 0o644)
    if not isinstance(mode, int) or isinstance(mode, bool) or not 0 <= mode <= 0o7777:
        raise ArtefactInvalid(f"{place}.mode is {mode!a}; expected a number such as 420 (octal 0644)")
    path = checked_path(found.get("path"), f"{place}.path")
    return CarriedFile(path, from_data_url(contents.get("source", "data:,"), f"{place}.contents.source"), mode)


def _mapping(found: object, place: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ArtefactInvalid(f"{place} is not a mapping")
    return found


# How is a MachineConfig written, and how are its files read back?

MOST_BYTES = 1 << 20
"""What an object may have at the most: etcd refuses larger requests (1.5 MiB), base64 and metadata included."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_KIND, _API = "MachineConfig", "machineconfiguration.openshift.io/v1"


def is_name(text: str) -> bool:
    """Return whether *text* can be the name of a MachineConfig or of a pool."""
    return _NAME.fullmatch(text) is not None


def render(files: Iterable[CarriedFile], role: str, name: str | None = None) -> str:
    """Return the object as YAML; *name* is ``10-nodenet-<role>`` unless it is given.

    *role* is the name of a machine config pool: ``master``, ``worker`` or a pool of the cluster's own. Raises
    ArtefactInvalid when the object would be too large.
    """
    lines = [
        f"apiVersion: {_API}",
        f"kind: {_KIND}",
        "metadata:",
        "  labels:",
        f"    machineconfiguration.openshift.io/role: {yaml_word(role)}",
        f"  name: {yaml_word(name or f'10-nodenet-{role}')}",
        "spec:",
        "  config:",
        "    ignition:",
        f"      version: {IGNITION_VERSION}",
        "    storage:",
        "      files:",
    ]
    for file in sorted(files, key=lambda file: file.path):
        lines += [
            "      - contents:",
            f"          source: {to_data_url(file.content)}",
            f"        mode: {file.mode}",
            "        overwrite: true",
            f"        path: {yaml_word(str(file.path))}",
        ]
    text = "\n".join(lines) + "\n"
    if len(text) > MOST_BYTES:
        raise ArtefactInvalid(
            f"the MachineConfig would have {len(text)} bytes, {MOST_BYTES} are the most: split the nodes into pools"
        )
    return text


def size_with(files: Iterable[tuple[str, int]]) -> int:
    """Return about how many bytes the object has with node files of these names and sizes."""
    each = len("      - contents:\n          source: \n        mode: 420\n        overwrite: true\n        path: \n")
    return 300 + sum(each + len(TEXT) + 4 * ((size + 2) // 3) + len(name) + 24 for name, size in files)


def files_in(found: object) -> tuple[CarriedFile, ...]:
    """Return the files of a MachineConfig, as YAML values. Raises ArtefactInvalid naming the place."""
    if not isinstance(found, Mapping) or found.get("kind") != _KIND:
        kind = found.get("kind") if isinstance(found, Mapping) else found
        raise ArtefactInvalid(f"$.kind is {kind!a}; expected {_KIND}")
    if found.get("apiVersion") != _API:
        raise ArtefactInvalid(f"$.apiVersion is {found.get('apiVersion')!a}; expected {_API}")
    spec = found.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    return files_in_ignition(config, "$.spec.config")


def place_of(path: PurePosixPath, node_file_dir: PurePosixPath) -> PurePosixPath:
    """Return where an extracted file is written, below the output folder: node files by name, others by whole path."""
    return PurePosixPath(path.name) if path.parent == node_file_dir else PurePosixPath(*path.parts[1:])


# How does a hint for the node IP reach a node? In the environment file that the node's other tools read, too.

HINT_PATH = PurePosixPath("/etc/default/nodeip-configuration")
VARIABLE = "KUBELET_NODEIP_HINT"
"""The name that every release of the node's other tools knows."""


def hint_file(hint: str) -> CarriedFile:
    """Return the file with a hint: an address, a prefix, or the name of a link. Raises ArtefactInvalid."""
    reading = parse_value(hint, "--hint")
    if reading.problems:
        raise ArtefactInvalid(f"{reading.problems[0].cause}. {reading.problems[0].remedy}")
    if not reading.hints:
        raise ArtefactInvalid("--hint is empty")
    words = " ".join(each.text for each in reading.hints)
    value = f'"{words}"' if len(reading.hints) > 1 else words
    return CarriedFile(HINT_PATH, f"{VARIABLE}={value}\n".encode())


# Which settings of nodenetd follow from install-config, so that VIPs are typed once?
#
# The file is for ``/etc/nodenet/nodenet.toml.d``; an administrator's later file wins over it, key by key.

SETTINGS_PATH = PurePosixPath("/etc/nodenet/nodenet.toml.d/20-cluster.toml")
USER_MANAGED = "UserManaged"


def settings_of(cluster: Cluster) -> CarriedFile:
    """Return the settings file, the same bytes for the same values. Raises ArtefactInvalid if nodenetd refuses it."""
    values: dict[str, str | bool | list[str]] = {"platform": cluster.platform}
    if network_type := _text(cluster, "networking", "networkType"):
        values["network_type"] = network_type
    values["api_vips"] = [str(vip) for vip in cluster.api_vips]
    values["ingress_vips"] = [str(vip) for vip in cluster.ingress_vips]
    values["user_managed_lb"] = _text(cluster, "platform", cluster.platform, "loadBalancer", "type") == USER_MANAGED
    name, domain = _text(cluster, "metadata", "name"), _text(cluster, "baseDomain")
    if name and domain:
        values["cluster_domain"] = f"{name}.{domain}"
    lines = [f"# Made from {PurePosixPath(cluster.file).name} by `nodenetctl day-one machine-config`."]
    lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    content = ("\n".join(lines) + "\n").encode()
    try:
        parse([(str(SETTINGS_PATH), content)])
    except SettingsInvalid as error:
        raise ArtefactInvalid(f"nodenetd would refuse these settings: {error.cause}") from None
    return CarriedFile(SETTINGS_PATH, content)


def _text(cluster: Cluster, *keys: str) -> str:
    found = child(cluster.document, *keys)
    return found.text if isinstance(found, Scalar) else ""
