"""Which rules do hosts of install-config and BareMetalHosts break, beside each other and beside the node files?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network

from nodenet.core.day_one.found import Found, at
from nodenet.core.day_one.hosts import Cluster, Host
from nodenet.core.day_one.links import Address
from nodenet.core.day_one.node_rules import Shape, Step, Summary, judged_tree, summarised
from nodenet.core.day_one.rules import Rule
from nodenet.core.hostname.name import normalised, stems
from nodenet.core.node_file.find import CLUSTER, EXTENSIONS
from nodenet.core.node_file.values import mac_address
from nodenet.core.node_file.yaml_text import Block, Scalar

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
        if described is not None and summary is not None:
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
