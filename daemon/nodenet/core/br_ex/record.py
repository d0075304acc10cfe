"""What were the bridges made of, and which step is still to be done?

Written before the network is touched. The record has the profiles of NetworkManager as they were, so a bridge can be
removed again and an interrupted apply can be repaired. The intent beside it (``core.apply.intent``) has the result of
the apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.profile_backup import KeptProfile

VERSION = 1
ProfileSettings = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Bridge → setting → property → value, for NetworkManager's profile of that bridge's interface."""


@dataclass(frozen=True, slots=True)
class BridgeRecord:
    """The bridges of this node: *uplinks* is bridge → the link below it, *macs* link → its permanent MAC.

    *node_ips* are those that moved. *originals*: uplink → its profile as it was. *present*: the UUIDs of all profiles
    there were. *lease*: the DHCPv4 address that stands static for the time being, and ends at *lease_ends* (Unix time).
    *finish*: what gives it back to DHCP, to be set on the bridges' profiles, while that is owed. *adopted*: somebody
    else made the bridges. *removed_in*: the boot in which an administrator had them taken away.
    """

    uplinks: Mapping[str, str]
    macs: Mapping[str, str] = field(default_factory=dict)
    node_ips: tuple[str, ...] = ()
    originals: Mapping[str, KeptProfile] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    finish: ProfileSettings | None = None
    lease: str | None = None
    lease_ends: float | None = None
    adopted: bool = False
    removed_in: str | None = None

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        """The node IPs that moved."""
        return tuple(map(ip_address, self.node_ips))

    def finished(self) -> BridgeRecord:
        """Return the record of bridges that are owed nothing."""
        return replace(self, finish=None, lease=None, lease_ends=None)


def render(record: BridgeRecord) -> bytes:
    """Return the record as it is stored; it may hold secrets of 802.1X, so its file is root's alone."""
    return json.dumps({"version": VERSION, **asdict(record)}, indent=1).encode() + b"\n"


def parse(content: bytes) -> BridgeRecord:
    """Return the record from its bytes. Raises ValueError when they are torn or of another version."""
    fields: dict[str, Any] = json.loads(content)
    if not isinstance(fields, dict) or fields.pop("version", None) != VERSION:
        raise ValueError(f"not a record of version {VERSION}")
    try:
        fields["originals"] = {link: KeptProfile(**kept) for link, kept in fields["originals"].items()}
        fields |= {name: tuple(fields[name]) for name in ("node_ips", "present")}
        return BridgeRecord(**fields)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
