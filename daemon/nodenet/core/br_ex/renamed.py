"""Does the uplink of a bridge have another name than when the bridge was made?

A NIC gets another name when it moves to another slot, or when the rules of systemd.link(5) change. The profile of the
bridge's port matches the old name, so the bridge comes up without an uplink.
"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.network_manager.objects import Inventory

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
