"""Which node IPs were published last, so that a reboot does not select other ones without a reason?

This is read from the published files themselves, whichever program wrote them. The record beside them only adds what
they do not have: the link, and which addresses did not come in time. A full disk, a lost record or a node that another
program configured does not lead to other node IPs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import ip_address
from pathlib import PurePosixPath

from nodenet.core.ip import IPAddress
from nodenet.core.node_ip import published_files
from nodenet.core.record_version import fields

VERSION = 1
SELECTION = PurePosixPath("/var/lib/nodenet/selection.json")
"""Where the record is kept."""


@dataclass(frozen=True, slots=True)
class LastPublished:
    """The last publication: addresses, primary first, the permanent MAC of the link, and the boot it was made in.

    *this_boot*: it is of the present boot, so kubelet may already run with these addresses. *in_vain*: what was on its
    way and had not come when they were published, in words; no later boot waits for it.
    """

    addresses: tuple[IPAddress, ...]
    permanent_mac: str | None = None
    boot_id: str = ""
    this_boot: bool = False
    in_vain: tuple[str, ...] = ()


@lru_cache(maxsize=4)
def parse(content: bytes, boot_id: str) -> LastPublished:
    """Return the record, read in the boot *boot_id*. Raises ValueError when it is not one of ours."""
    document = fields(content, VERSION)
    addresses, mac, made_in = (document.get(key) for key in ("addresses", "permanent_mac", "boot_id"))
    if not isinstance(addresses, list) or not all(isinstance(text, str) for text in addresses):
        raise ValueError("its addresses are not a list of addresses")
    if not isinstance(mac, str | None) or not isinstance(made_in, str):
        raise ValueError("its link or boot is not a string")  # noqa: TRY004 - the content is wrong, not the caller
    in_vain = document.get("in_vain", [])
    if not isinstance(in_vain, list) or not all(isinstance(text, str) for text in in_vain):
        raise ValueError("its in_vain is not a list of strings")
    return LastPublished(tuple(map(ip_address, addresses)), mac, made_in, made_in == boot_id, tuple(in_vain))


def last_publication(
    record: LastPublished | None, contents: Mapping[PurePosixPath, bytes | None]
) -> LastPublished | None:
    """Return the last publication by the *contents* of the published files, else by the *record*; None: there is none.

    Of a record that names other addresses nothing is taken but the link, if the primary address is the same.
    """
    addresses, this_boot = published_files.node_ips(contents)
    if not addresses:
        return replace(record, this_boot=False) if record and record.addresses else None
    if record and record.addresses == addresses:
        return replace(record, this_boot=this_boot)
    same_primary = record is not None and record.addresses[:1] == addresses[:1]
    return LastPublished(addresses, record.permanent_mac if record and same_primary else None, this_boot=this_boot)


def render(sticky: LastPublished) -> bytes:
    """Return the record as text for its file."""
    document = {
        "version": VERSION,
        "addresses": [str(address) for address in sticky.addresses],
        "permanent_mac": sticky.permanent_mac,
        "boot_id": sticky.boot_id,
        "in_vain": list(sticky.in_vain),
    }
    return json.dumps(document).encode() + b"\n"
