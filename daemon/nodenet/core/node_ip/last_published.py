"""Which node IPs were published last, so that a reboot does not choose others without need?"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import PurePosixPath

from nodenet.core.ip import IPAddress

VERSION = 1
SELECTION = PurePosixPath("/var/lib/nodenet/selection.json")
"""Where the record is kept."""


@dataclass(frozen=True, slots=True)
class LastPublished:
    """The last publication: addresses, primary first, the permanent MAC of the link, and the boot it was made in.

    *this_boot*: the record is of the present boot, so kubelet may already run with these addresses. *in_vain*: what was
    on its way and had not come when they were published, in words; no later boot waits for it.
    """

    addresses: tuple[IPAddress, ...]
    permanent_mac: str | None = None
    boot_id: str = ""
    this_boot: bool = False
    in_vain: tuple[str, ...] = ()


def parse(content: bytes, boot_id: str) -> LastPublished:
    """Return the record, read in the boot *boot_id*. Raises ValueError when it is not one of ours."""
    document = json.loads(content)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError(f"it is not a version {VERSION} record")
    addresses, mac, made_in = (document.get(key) for key in ("addresses", "permanent_mac", "boot_id"))
    if not isinstance(addresses, list) or not all(isinstance(text, str) for text in addresses):
        raise ValueError("its addresses are not a list of addresses")
    if not isinstance(mac, str | None) or not isinstance(made_in, str):
        raise ValueError("its link or boot is not a string")  # noqa: TRY004 - the content is wrong, not the caller
    in_vain = document.get("in_vain", [])
    if not isinstance(in_vain, list) or not all(isinstance(text, str) for text in in_vain):
        raise ValueError("what was waited for in vain is not a list of strings")
    return LastPublished(tuple(map(ip_address, addresses)), mac, made_in, made_in == boot_id, tuple(in_vain))


def still_published(record: LastPublished | None, primary: bytes | None) -> LastPublished | None:
    """Return the record, *this_boot* only where *primary* is published: /run is empty after a boot."""
    if record is None or not record.addresses:
        return None
    return replace(record, this_boot=primary == str(record.addresses[0]).encode())


def render(sticky: LastPublished) -> bytes:
    """Return the record as it is kept."""
    document = {
        "version": VERSION,
        "addresses": [str(address) for address in sticky.addresses],
        "permanent_mac": sticky.permanent_mac,
        "boot_id": sticky.boot_id,
        "in_vain": list(sticky.in_vain),
    }
    return json.dumps(document).encode() + b"\n"
