"""What were the bridges made of, and which step is still to be done?

Written before the network is touched. The record has the profiles of NetworkManager as they were, so a bridge can be
removed again and an interrupted apply can be repaired. The intent beside it (``core.apply.intent``) has the result of
the apply.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1
ProfileSettings = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Bridge → setting → property → value, for NetworkManager's profile of that bridge's interface."""


@frozen
class BridgeRecord:
    """The bridges of this node: *uplinks* is bridge → the link below it, *macs* link → its permanent MAC.

    *node_ips* are those that moved. *originals*: uplink → its profile as it was. *present*: the UUIDs of all profiles
    there were. *leases*: bridge → the DHCPv4 lease that is static on it for now. *finish*: bridge → the settings of its
    profile that remove the static copy, until they are set. *adopted*: another program made the bridges.
    *removed_in*: the boot in which an administrator removed them.
    """

    uplinks: Mapping[str, str]
    macs: Mapping[str, str] = field(default_factory=dict)
    node_ips: tuple[str, ...] = ()
    originals: Mapping[str, KeptProfile] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    finish: ProfileSettings | None = None
    leases: Mapping[str, StaticLease] = field(default_factory=dict)
    adopted: bool = False
    removed_in: str | None = None

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        """The node IPs that moved."""
        return tuple(map(_address, self.node_ips))

    def finished(self, bridges: Collection[str] | None = None) -> BridgeRecord:
        """Return the record once the static leases of *bridges* are removed; default: of all."""
        left = () if bridges is None else [bridge for bridge in self.finish or () if bridge not in bridges]
        finish = {bridge: (self.finish or {})[bridge] for bridge in left}
        return replace(
            self, finish=finish or None, leases={key: self.leases[key] for key in left if key in self.leases}
        )

    def without(self, bridges: Collection[str] | None = None) -> BridgeRecord:
        """Return the record once *bridges* are removed; default: all. Their uplinks are remembered."""
        links = {link for bridge, link in self.uplinks.items() if bridges is None or bridge in bridges}
        originals = {link: kept for link, kept in self.originals.items() if bridges is not None and link not in links}
        return replace(self.finished(bridges), originals=originals, adopted=self.adopted and bridges is not None)

    def renamed(self, old: str, new: str) -> BridgeRecord:
        """Return the record of a node whose uplink *old* is called *new* now."""
        return replace(
            self,
            uplinks={bridge: new if link == old else link for bridge, link in self.uplinks.items()},
            macs={new if link == old else link: mac for link, mac in self.macs.items()},
            originals={
                new if link == old else link: kept.for_link(old, new) if link == old else kept
                for link, kept in self.originals.items()
            },
        )


@lru_cache(maxsize=16)
def _address(text: str) -> IPAddress:
    return ip_address(text)


def render(record: BridgeRecord) -> bytes:
    """Return the record as it is stored; it may hold secrets of 802.1X, so its file is root's alone."""
    return json.dumps({"version": VERSION, **_values(record)}, indent=1, default=_values).encode() + b"\n"


def _values(of: Any) -> dict[str, Any]:  # noqa: ANN401  (a part of the record)
    """Return the fields of a dataclass, not copied. Raises TypeError where it is none."""
    return {each.name: getattr(of, each.name) for each in dataclasses.fields(of)}


@lru_cache(maxsize=4)
def parse(content: bytes) -> BridgeRecord:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    found = fields(content, VERSION)
    try:
        found["originals"] = {link: KeptProfile(**kept) for link, kept in found["originals"].items()}
        found |= {name: tuple(found[name]) for name in ("node_ips", "present")}
        found["leases"] = _leases(found["leases"])
        record = BridgeRecord(**found)
        well_typed = _is_well_typed(record)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    if not well_typed:
        raise ValueError("not a record: a value has another type")
    return record


def _is_well_typed(record: BridgeRecord) -> bool:
    """Return whether every value has its type. Raises ValueError for an address, AttributeError or TypeError."""
    kept, leases = record.originals.values(), record.leases.values()
    texts = [*record.uplinks, *record.uplinks.values(), *record.macs, *record.macs.values(), *record.present]
    texts += [text for each in kept for text in (each.uuid, each.name, each.path)]
    texts += [lease.noted.boot_id for lease in leases]
    perhaps = [record.removed_in, *(each.keyfile for each in kept)]
    numbers = [number for lease in leases for number in (lease.noted.boottime, lease.noted.unix)]
    perhaps_numbers = [lease.seconds for lease in leases]
    sections = [section for parts in (record.finish or {}).values() for section in parts.values()]
    sections += [each.settings for each in kept]
    addresses = (*record.addresses, *(ip_address(str(lease.address)) for lease in leases))
    return all(
        (
            all(isinstance(text, str) for text in texts),
            all(isinstance(text, str | None) for text in perhaps),
            all(isinstance(number, int | float) for number in numbers),
            all(isinstance(number, int | float | None) for number in perhaps_numbers),
            isinstance(record.finish, dict | None),
            all(isinstance(section, dict) for section in sections),
            len(addresses) == len(record.node_ips) + len(record.leases),
        )
    )


def _leases(found: Mapping[str, Any]) -> dict[str, StaticLease]:
    return {bridge: StaticLease(**{**lease, "noted": Moment(**lease["noted"])}) for bridge, lease in found.items()}


# Does the uplink of a bridge have another name than when the bridge was made?
# A NIC gets another name when it moves to another slot, or when the rules of systemd.link(5) change. The profile of the
# bridge's port matches the old name, so the bridge comes up without an uplink.

NICS = {"ethernet": "802-3-ethernet", "veth": "veth"}
"""Kinds of devices that are renamed, and the types of their profiles. Bonds and VLANs are made by name."""
PROFILES = frozenset(NICS.values())


def renamed_uplinks(record: BridgeRecord, found: Inventory, links: Collection[str]) -> dict[str, str]:
    """Return old name → new name; *links* are the names that the kernel has.

    A NIC is compared when NetworkManager knows it: before that, udev may change its name. An uplink that is no NIC is
    left out: a bond has the MAC of one of its ports. A profile that has the new name was restored, and perhaps not yet
    activated.
    """
    profiles = {profile.uuid: profile for profile in found.profiles}
    names: dict[str, str] = {}
    for old in record.uplinks.values():
        kept, mac = record.originals.get(old), record.macs.get(old)
        profile = profiles.get(kept.uuid) if kept else None
        if old in links or mac is None or profile is None or profile.kind not in PROFILES:
            continue
        nics = (device for device in found.devices if device.kind in NICS and device.link in links)
        same = sorted(nic.link for nic in nics if (nic.permanent_mac or nic.mac or "").lower() == mac.lower())
        if len(same) == 1 and profile.link in (old, *same):
            names[old] = same[0]
    return names
