"""Which node IPs were published last, so that a reboot does not select other ones without a reason?

This is read from the published files themselves, whichever program wrote them. The record beside them only adds what
they do not have: the link, and the node IPs that a boot gave up. A full disk, a lost record or a node that another
program configured does not lead to other node IPs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import AddressFlag, Link, Snapshot
from nodenet.core.node_ip import published_files
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1
SELECTION = PurePosixPath("/var/lib/nodenet/selection.json")
"""Where the record is kept."""
VLAN = "vlan"
"""The kernel's kind of a VLAN: one of many on a NIC, with the NIC's MAC."""


@frozen
class LastPublished:
    """The last publication: addresses, primary first, the permanent MAC of the link, and the boot it was made in.

    *vlan*: the name of the link if it is a VLAN. *this_boot*: it is of the present boot, so kubelet may already run
    with these addresses. *wanted*: the node IPs that the present boot gave up for *addresses*: the next boot waits for
    them again, on the same NIC.
    """

    addresses: tuple[IPAddress, ...]
    permanent_mac: str | None = None
    boot_id: str = ""
    this_boot: bool = False
    vlan: str = ""
    wanted: tuple[IPAddress, ...] = ()

    def is_on(self, link: Link) -> bool:
        """Return whether *link* is on the NIC that had the primary node IP; of VLANs on one NIC, only the same.

        A bridge over a VLAN has its MAC too.
        """
        same = link.name == self.vlan if link.kind == VLAN else not self.vlan or link.kind is not None
        return same and self.permanent_mac is not None and link.hardware_mac == self.permanent_mac

    def vlan_of(self, link: Link) -> str:
        """Return what *vlan* is for *link*: below a bridge it is the one that the NIC had before."""
        if link.kind == VLAN:
            return link.name
        return self.vlan if link.kind is not None and link.hardware_mac == self.permanent_mac else ""


@lru_cache(maxsize=4)
def parse(content: bytes, boot_id: str) -> LastPublished:
    """Return the record, read in the boot *boot_id*. Raises ValueError when it is not one of ours."""
    document = fields(content, VERSION)
    mac, made_in, vlan = document.get("permanent_mac"), document.get("boot_id"), document.get("vlan", "")
    if not isinstance(mac, str | None) or not isinstance(made_in, str) or not isinstance(vlan, str):
        raise ValueError("its link or boot is not a string")  # noqa: TRY004 - the content is wrong, not the caller
    addresses, wanted = _addresses(document, "addresses"), _addresses(document, "wanted", [])
    return LastPublished(addresses, mac, made_in, made_in == boot_id, vlan, wanted)


def _addresses(document: Mapping[str, Any], key: str, default: Any = None) -> tuple[IPAddress, ...]:  # noqa: ANN401
    found = document.get(key, default)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f"its {key} are not a list of addresses")
    return tuple(map(ip_address, found))


def last_publication(
    record: LastPublished | None, contents: Mapping[PurePosixPath, bytes | None]
) -> LastPublished | None:
    """Return the last publication by the *contents* of the published files, else by the *record*; None: there is none.

    Of a record that names other addresses nothing is taken but the link, if the primary address is the same. What an
    earlier boot gave up is what it would have published.
    """
    addresses, this_boot = published_files.node_ips(contents)
    if addresses and this_boot and record and record.addresses == addresses:
        return replace(record, this_boot=True)
    if record and record.addresses and addresses in ((), record.addresses):
        return replace(record, addresses=record.wanted or record.addresses, wanted=(), this_boot=False)
    if not addresses:
        return None
    same_primary = record is not None and record.addresses[:1] == addresses[:1]
    if record is None or not same_primary:
        return LastPublished(addresses, this_boot=this_boot)
    return LastPublished(addresses, record.permanent_mac, this_boot=this_boot, vlan=record.vlan)


def render(sticky: LastPublished) -> bytes:
    """Return the record as text for its file."""
    document = {
        "version": VERSION,
        "addresses": [str(address) for address in sticky.addresses],
        "permanent_mac": sticky.permanent_mac,
        "boot_id": sticky.boot_id,
        "vlan": sticky.vlan,
        "wanted": [str(address) for address in sticky.wanted],
    }
    return json.dumps(document).encode() + b"\n"


def lost(published: Sequence[IPAddress], snapshot: Snapshot) -> tuple[IPAddress, ...]:
    """Return the *published* addresses that no link has."""
    present = {item.address for item in snapshot.addresses}
    return tuple(address for address in published if address not in present)


def unusable(published: Sequence[IPAddress], snapshot: Snapshot) -> str | None:
    """Return why a *published* address that a link has cannot be used, None when all can (ip-address(8))."""
    for item in snapshot.addresses:
        if item.address not in published:
            continue
        if AddressFlag.DAD_FAILED in item.flags:
            return f"Node IP {item.address} is also the address of another host ({item.link}: dadfailed)"
        if AddressFlag.TENTATIVE in item.flags and AddressFlag.OPTIMISTIC not in item.flags:
            return f"Node IP {item.address} is still checked for duplicates ({item.link}: tentative)"
    return None


def cause(gone: Sequence[IPAddress], link: str | None, snapshot: Snapshot) -> str:
    """Return the sentence that names the addresses and what is the matter with their *link*."""
    named = " and ".join(map(str, gone))
    subject = f"Node IPs {named} are" if len(gone) > 1 else f"Node IP {named} is"
    return f"{subject} missing ({_state(link, snapshot)})"


def _state(name: str | None, snapshot: Snapshot) -> str:
    if name is None:
        return "no link has it"
    link = next((item for item in snapshot.links if item.name == name), None)
    if link is None:
        return f"{name}: no such link"
    if not link.up:
        return f"{name}: down"
    if not link.carrier:
        return f"{name}: no carrier"
    others = [str(item.address) for item in snapshot.addresses if item.link == name and not item.address.is_link_local]
    return f"{name}: has {', '.join(others)}" if others else f"{name}: no address"
