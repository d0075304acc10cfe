"""Which rules do hosts of install-config and BareMetalHosts break, beside each other and beside the node files?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network
from pathlib import PurePosixPath

from nodenet.core.day_one import machine_config, reading
from nodenet.core.day_one.links import Address
from nodenet.core.day_one.machine_config import Cluster, Host
from nodenet.core.day_one.manifests import content_in
from nodenet.core.day_one.node_rules import Shape, Step, Summary, judged_tree, shape_of, summarised
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.hostname import normalised, stems
from nodenet.core.node_file.find import CLUSTER, EXTENSIONS
from nodenet.core.node_file.values import mac_address, text
from nodenet.core.node_file.yaml_text import Block, Misread, Scalar
from nodenet.core.value import frozen

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")


def file_of(host: str, files: Mapping[str, object], mapped: Mapping[str, str]) -> str | None:
    """Return the node file that a host of this name gets, without regard to cluster.yml; None: it has none."""
    if host in mapped:
        return mapped[host] if mapped[host] in files else None
    names = (stem + extension for stem in stems(normalised(host)) for extension in EXTENSIONS)
    return next((name for name in names if name in files), None)


def among_each_other(hosts: tuple[Host, ...]) -> Iterator[Found]:
    """Yield names and boot MAC addresses that two hosts share, and boot MAC addresses that are none."""
    names: dict[str, Host] = {}
    macs: dict[str, Host] = {}
    for host in hosts:
        first = names.setdefault(host.name.text, host)
        if first is not host:
            said = f"another host has this name, in {_place(first)}", "Give each host a name of its own"
            yield at(Rule.HOST_TWICE, host.file, host.name, "name", said)
        mac = host.mac
        if not isinstance(mac, Scalar):
            said = f"the host {host.name.text} has no `bootMACAddress`", "Add the MAC address of its first NIC"
            yield Found(Rule.BAD_MAC, host.file, *said, host.name.line, host.name.column)
        elif not _MAC.fullmatch(mac.text):
            said = "this is not a MAC address", "Write six bytes, such as 52:54:00:12:34:56"
            yield at(Rule.BAD_MAC, host.file, mac, "bootMACAddress", said)
        else:
            other = macs.setdefault(mac_address(mac.text), host)
            if other is not host and other.name.text != host.name.text:
                said = f"{other.name.text} has the same address, in {_place(other)}", "Correct one of the two"
                yield at(Rule.MAC_TWICE, host.file, mac, "bootMACAddress", said)


def with_files(
    hosts: tuple[Host, ...], files: Mapping[str, Summary], mapped: Mapping[str, str], cluster: Cluster | None
) -> Iterator[Found]:
    """Yield what is wrong between the hosts, their node files and the cluster's networks and VIPs."""
    has_common = any(CLUSTER + extension in files for extension in EXTENSIONS)
    for host in hosts:
        name = file_of(host.name.text, files, mapped)
        summary = files[name] if name else None
        own = host.network_config
        if summary is None and own is None and host.secret is None and not has_common:
            said = (
                f"the host {host.name.text} has no node file, and there is no cluster.yml",
                f"Add {host.name.text}.yml, or name its file: --map {host.name.text}=FILE",
            )
            yield Found(Rule.NO_FILE, host.file, *said, host.name.line, host.name.column)
        described = _described(host)
        if described is not None and summary is not None and not summary.is_policy:
            yield from differing(Rule.DIFFERS, host, described.shape, summary)
        for each in (described, summary):
            if each is not None and cluster is not None:
                yield from _in_cluster(each, cluster)


def without_host(hosts: tuple[Host, ...], files: Mapping[str, Summary], mapped: Mapping[str, str]) -> Iterator[Found]:
    """Yield the node files that no host gets."""
    used = {file_of(host.name.text, files, mapped) for host in hosts} | {CLUSTER + each for each in EXTENSIONS}
    for name in sorted(set(files) - used):
        remedy = f"Rename it, or name its host: --map HOST={name}"
        yield Found(Rule.NO_HOST, files[name].file, "no host of install-config and hosts gets this file", remedy)


def differing(rule: Rule, host: Host, shape: Shape, summary: Summary) -> Iterator[Found]:
    """Yield a finding where *shape* and the node file give a host another address, gateway or link."""
    for what, there, here in (
        ("address", shape.addresses, summary.shape.addresses),
        ("default gateway", shape.gateways, summary.shape.gateways),
        ("link", shape.links, summary.shape.links),
    ):
        if there != here:
            cause = f"{host.name.text} has the {what} {_list(there)} here, and {_list(here)} in {summary.file}"
            remedy = "Make both say the same: the host changes between the two steps otherwise"
            place = host.network_config or host.secret or host.name
            yield Found(rule, host.file, cause, remedy, place.line, place.column)
            return


def of_network_config(host: Host) -> list[Found]:
    """Return what is wrong with the ``networkConfig`` of a host on its own, at its place in install-config."""
    own = host.network_config
    if own is None:
        return []
    if not isinstance(own, Block) or own.is_list:
        said = (
            f"`networkConfig` of {host.name.text} is not a mapping",
            "Write its keys below it, indented, without `|`",
        )
        return [Found(Rule.NETWORK_CONFIG, host.file, *said, own.line, own.column)]
    prefix = f"{host.name.text}: networkConfig."
    found = judged_tree(host.file, own, Step.FIRST)
    return [replace(each, key=prefix + each.key) if each.key else each for each in found]


def _described(host: Host) -> Summary | None:
    own = host.network_config
    return summarised(Summary(host.file), own) if isinstance(own, Block) and not own.is_list else None


def _in_cluster(summary: Summary, cluster: Cluster) -> Iterator[Found]:
    vips = {*cluster.api_vips, *cluster.ingress_vips}
    own = [address for address in summary.addresses if address.is_of_a_host]
    for address in own:
        if address.value.ip in vips:
            said = "this is a VIP of the cluster", "Give the host an address of its own"
            yield at(Rule.IS_VIP, summary.file, address.node, address.path, said)
    ways = [address for address in own if address.interface in summary.ways] or own
    for version in {network.version for network in cluster.networks}:
        networks = [network for network in cluster.networks if network.version == version]
        candidates = [address for address in ways if address.value.version == version]
        if candidates and not summary.automatic and not _any_inside(candidates, networks):
            listed = ", ".join(map(str, networks))
            said = f"the address is outside networking.machineNetwork ({listed})", "Correct one of the two"
            yield at(Rule.OUTSIDE, summary.file, candidates[0].node, candidates[0].path, said)


def _any_inside(candidates: list[Address], networks: list[IPv4Network | IPv6Network]) -> bool:
    return any(address.value.ip in network for address in candidates for network in networks)


def _list(values: frozenset[str]) -> str:
    return " and ".join(sorted(values)) or "none"


def _place(host: Host) -> str:
    return f"{host.file}, line {host.name.line}"


# Which rules do MachineConfigs and Secrets break that carry node files, beside each other and beside the folder?


@frozen
class Manifest:
    """One document of a file of manifests."""

    file: str
    document: Block

    @property
    def name(self) -> str:
        """The name of the object, empty where it has none."""
        metadata = self.document.get("metadata")
        return text(metadata, "name") if isinstance(metadata, Block) else ""

    @property
    def role(self) -> str:
        """The role of a MachineConfig."""
        metadata = self.document.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Block) else None
        return text(labels, "machineconfiguration.openshift.io/role") if isinstance(labels, Block) else ""


def machine_configs(
    manifests: list[Manifest], files: Mapping[str, Summary], node_file_dir: PurePosixPath
) -> Iterator[Found]:
    """Yield paths that two MachineConfigs of a role write, and node files that differ from those of the folder."""
    first: dict[tuple[str, PurePosixPath], Manifest] = {}
    for manifest in manifests:
        place = (manifest.document.line, manifest.document.column)
        try:
            carried = machine_config.files_in(reading.values(manifest.document))
        except ArtefactInvalid as error:
            remedy = "Correct it, or make it again: `nodenetctl day-one machine-config`"
            yield Found(Rule.SHAPE, manifest.file, str(error), remedy, *place)
            continue
        for file in carried:
            known = first.setdefault((manifest.role, file.path), manifest)
            if known is not manifest:
                cause = f"{manifest.name} writes {file.path}, and so does {known.name} in {known.file}"
                yield Found(Rule.PATH_TWICE, manifest.file, cause, "Keep one of the two", *place)
            summary = files.get(file.path.name) if file.path.parent == node_file_dir else None
            if summary is not None and sha256(file.content).hexdigest() != summary.digest:
                cause = f"{manifest.name} has other content for {file.path.name} than {summary.file}"
                remedy = "Make it again: `nodenetctl day-one machine-config`, or take its files with --extract"
                yield Found(Rule.MC_DIFFERS, manifest.file, cause, remedy, *place)


def secrets(
    hosts: tuple[Host, ...], manifests: list[Manifest], files: Mapping[str, Summary], mapped: Mapping[str, str]
) -> Iterator[Found]:
    """Yield what is wrong with the Secrets that BareMetalHosts name."""
    by_name = {manifest.name: manifest for manifest in manifests}
    for host in hosts:
        if host.secret is None:
            continue
        manifest = by_name.get(host.secret.text)
        if manifest is None:
            cause = f"the Secret {host.secret.text} of {host.name.text} is not in the file"
            remedy = f"Make it: `nodenetctl day-one secret FILE --host {host.name.text}`"
            yield Found(Rule.SECRET_MISSING, host.file, cause, remedy, host.secret.line, host.secret.column)
            continue
        yield from _secret(host, manifest, files, mapped)


def _secret(host: Host, manifest: Manifest, files: Mapping[str, Summary], mapped: Mapping[str, str]) -> Iterator[Found]:
    remedy = f"Make it again: `nodenetctl day-one secret FILE --host {host.name.text}`"
    place = (manifest.document.line, manifest.document.column)
    try:
        tree = reading.tree(manifest.name, content_in(reading.values(manifest.document)).decode())
    except ArtefactInvalid as error:
        yield Found(Rule.SECRET_SHAPE, manifest.file, f"Secret {manifest.name}: {error}", remedy, *place)
        return
    except (Misread, UnicodeDecodeError):
        cause = f"Secret {manifest.name}: its document is not YAML"
        yield Found(Rule.SECRET_SHAPE, manifest.file, cause, remedy, *place)
        return
    if not isinstance(tree, Block) or tree.get("interfaces") is None:
        cause = f"Secret {manifest.name}: its document is not an NMState document"
        yield Found(Rule.SECRET_SHAPE, manifest.file, cause, remedy, *place)
        return
    name = file_of(host.name.text, files, mapped)
    if name is not None:
        yield from differing(Rule.SECRET_DIFFERS, host, shape_of(tree), files[name])
