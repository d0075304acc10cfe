"""What is known of a bridge once another link has taken the place of the one below it?

If the bridge goes, the configuration goes to the link that is below it then: the profile of that link gets the IP
settings of the profile that the first uplink had before the bridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.ip import CARRIED_OVER
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.uplink import BRIDGE, DEFAULT_BRIDGE_FILE
from nodenet.core.errors import UplinkRefused
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.nmstate.state import FIRST

OF_PORTS = frozenset({"controller", "master", "port-type", "slave-type"})
"""What makes a link a port (``connection``, nm-settings-nmcli(5))."""
Sections = dict[str, Any]


def over_another(  # noqa: PLR0913  (what is known of the link)
    record: BridgeRecord, bridge: str, link: str, port: KeptProfile, mac: str | None, client_id: str | None
) -> BridgeRecord:
    """Return *record* once *bridge* is over *link*, which has the profile *port* and the MAC *mac*.

    *client_id* is the one of the DHCPv4 lease of the bridge: *link* would ask with another one.
    """
    old = record.uplinks[bridge]
    original = record.originals.get(old)
    originals = {other: kept for other, kept in record.originals.items() if other != old}
    macs = {other: known for other, known in record.macs.items() if other != old}
    return replace(
        record,
        uplinks={**record.uplinks, bridge: link},
        macs=macs | ({link: mac} if mac else {}),
        originals=originals | ({link: without_bridge(port, original, client_id)} if original else {}),
        present=tuple(dict.fromkeys((*record.present, port.uuid))),
    )


def without_bridge(port: KeptProfile, original: KeptProfile, client_id: str | None = None) -> KeptProfile:
    """Return the profile of a port as it is to be without its bridge: with the IP settings of *original*."""
    settings: Sections = {name: part for name, part in port.settings.items() if name != "ovs-interface"}
    before = original.settings
    connection = {key: value for key, value in _values(settings, "connection").items() if key not in OF_PORTS}
    moved = {key: value for key, value in _values(before, "connection").items() if key in CARRIED_OVER["connection"]}
    settings["connection"] = ["dict", connection | moved]
    settings |= {family: before[family] for family in ("ipv4", "ipv6") if family in before}
    ipv4 = _values(settings, "ipv4")
    if client_id and ipv4.get("method") == _text("auto"):
        settings["ipv4"] = ["dict", ipv4 | {"dhcp-client-id": _text(client_id)}]
    return replace(port, settings=settings, keyfile=None)


def _values(settings: Mapping[str, Any], section: str) -> dict[str, Any]:
    packed = settings.get(section)
    return dict(packed[1]) if isinstance(packed, list) and isinstance(packed[1], dict) else {}


def _text(value: str) -> list[Any]:
    """Return a text as the settings have it (``KeptProfile.settings``)."""
    return ["variant", "s", ["plain", value]]


def refuse_removal(facts: BridgeFacts, *, in_file: bool) -> None:
    """Raise UplinkRefused if a node file (*in_file*) gives the configuration of br-ex to a link that is replaced.

    Without br-ex both links would have the addresses.
    """
    row, uplink = facts.bridge(BRIDGE), facts.uplink_of(BRIDGE)
    first = row.external_ids.get(FIRST, uplink) if row else uplink
    if in_file and first != uplink:
        raise UplinkRefused(
            f"The node file gives {first} the configuration of {BRIDGE}, which is over {uplink} now",
            remedy=f"Write {first} into {DEFAULT_BRIDGE_FILE} and run `nodenetctl bridge make` before",
        )
