"""What must be known of a node before br-ex is made over one of its links?

Everything that ``core.br_ex.uplink`` and ``core.br_ex.plan`` look at: what libnmstate shows, what NetworkManager
and the database of Open vSwitch know in addition, and the files that name a link. Values only; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.profiles import Device, Profile, _nothing
from nodenet.core.nmstate import state
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge
from nodenet.core.value import frozen

MARK = "nodenet-uplink"
"""The key in a bridge's ``external_ids`` that makes it ours; the value is the uplink. NetworkManager keeps it in the
bridge's profile and in the database, so it is known even when one of the two is gone."""
ADOPTED = "nodenet-adopted"
"""The key in the database that marks a bridge made by the old script and adopted by us; the value is the uplink."""


@frozen
class BridgeFacts:
    """All that a plan is made of.

    *state* is what ``libnmstate.show()`` returns; *temporary* are the addresses that the kernel flags so (privacy).
    *global_dns*: NetworkManager has a ``GlobalDnsConfiguration``, which hides the name servers of all profiles.
    *sysctls*: link → name below ``/proc/sys`` with the link left out (``net/ipv4/conf/forwarding``) → value; the entry
    ``default`` has those of a new link. *default_bridge* and *extra_bridge* are the files' text, None: no such file.
    *remembered* is the uplink of the last boot. VIPs that the node holds at this moment are not in *state*, since they
    belong to no configuration.
    """

    state: Mapping[str, Any] = field(default_factory=_nothing)
    temporary: tuple[IPAddress, ...] = ()
    global_dns: bool = False
    devices: tuple[Device, ...] = ()
    profiles: tuple[Profile, ...] = ()
    sysctls: Mapping[str, Mapping[str, str]] = field(default_factory=_nothing)
    node_ips: tuple[IPAddress, ...] = ()
    node_ip_link: str | None = None
    default_bridge: str | None = None
    extra_bridge: str | None = None
    remembered: str | None = None
    remembered_mac: str | None = None
    ovs: tuple[OvsBridge, ...] = ()

    def device(self, link: str) -> Device | None:
        """Return NetworkManager's device of that name; Open vSwitch's bridge and interface share one, the last wins."""
        return {device.link: device for device in self.devices if device.kind != "ovs-bridge"}.get(link)

    def bridge(self, name: str) -> OvsBridge | None:
        """Return what the database has under that name."""
        return next((bridge for bridge in self.ovs if bridge.name == name), None)

    def uplink_of(self, bridge: str) -> str | None:
        """Return the link of the host that is a port of *bridge* now; None without any.

        Anybody may add a port: one that exists comes first, then the one that the bridge was made over, then what
        NetworkManager put there.
        """
        known = self.bridge(bridge)
        if known is None:
            stated = state.ovs_bridge(self.state, bridge)
            names = {name for name in (state.ports(stated) if stated else ()) if self._is_outside(name)}
            return min((name for name in names if state.link(self.state, name) is not None), default=None)
        made_over = known.external_ids.get(MARK, known.external_ids.get(ADOPTED))
        ranks = [
            (state.link(self.state, item.name) is None, item.name != made_over, not port.by_network_manager, item.name)
            for port in known.ports
            for item in port.interfaces
            if item.kind in PHYSICAL and item.name != bridge
        ]
        return min(ranks)[-1] if ranks else None

    def _is_outside(self, name: str) -> bool:
        return (state.link(self.state, name) or {}).get("type") != state.OVS_INTERFACE
