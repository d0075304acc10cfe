"""Which values does a new profile or link have by default? Other values of a host belong in its node file.

Sources: nm-settings-nmcli(5), the kernel's bonding.rst, ip-link(8), and NMState's API reference.
"""

from __future__ import annotations

from collections.abc import Mapping

MTU = 1500
ROUTE_METRIC: Mapping[str, int] = {
    "ethernet": 100,
    "infiniband": 150,
    "ipsec": 50,
    "bond": 300,
    "vlan": 400,
    "macsec": 400,
    "vrf": 470,
    "linux-bridge": 425,
    "ovs-interface": 800,
    "ovs-bridge": 800,
    "vxlan": 500,
    "dummy": 550,
    "wifi": 600,
}
"""Type of link → metric of the routes that its profile learns (NetworkManager.conf(5), ``ipv4.route-metric``)."""
IPV6_ROUTE = 1024
"""The kernel's own metric of an IPv6 route (ipv6_route(7))."""
BOND: Mapping[str, object] = {
    "ad_actor_sys_prio": 65535,
    "ad_actor_system": "00:00:00:00:00:00",
    "ad_select": "stable",
    "ad_user_port_key": 0,
    "all_slaves_active": "dropped",
    "arp_all_targets": "any",
    "arp_interval": 0,
    "arp_ip_target": "",
    "arp_validate": "none",
    "arp_missed_max": 2,
    "downdelay": 0,
    "fail_over_mac": "none",
    "lacp_active": "on",
    "lacp_rate": "slow",
    "lp_interval": 1,
    "min_links": 0,
    "num_grat_arp": 1,
    "num_unsol_na": 1,
    "packets_per_slave": 1,
    "peer_notif_delay": 0,
    "primary": "",
    "primary_reselect": "always",
    "resend_igmp": 1,
    "tlb_dynamic_lb": True,
    "updelay": 0,
    "use_carrier": True,
    "xmit_hash_policy": "layer2",
}
"""Kernel's bonding.rst; ``miimon`` is always written, since a bond without it does not see a lost carrier."""
BRIDGE: Mapping[str, object] = {
    "group-addr": "01:80:C2:00:00:00",
    "group-forward-mask": 0,
    "group-fwd-mask": 0,
    "hash-max": 4096,
    "mac-ageing-time": 300,
    "multicast-last-member-count": 2,
    "multicast-last-member-interval": 100,
    "multicast-membership-interval": 26000,
    "multicast-querier": False,
    "multicast-querier-interval": 25500,
    "multicast-query-interval": 12500,
    "multicast-query-response-interval": 1000,
    "multicast-query-use-ifaddr": False,
    "multicast-router": "auto",
    "multicast-snooping": True,
    "multicast-startup-query-count": 2,
    "multicast-startup-query-interval": 3124,
    "vlan-default-pvid": 1,
    "vlan-protocol": "802.1q",
}
BRIDGE_STATUS = frozenset({"gc-timer", "hello-timer"})
"""Timers of the kernel, which no configuration sets."""
STP: Mapping[str, object] = {"forward-delay": 15, "hello-time": 2, "max-age": 20, "priority": 32768}
BRIDGE_PORT: Mapping[str, object] = {"stp-hairpin-mode": False, "stp-path-cost": 100, "stp-priority": 32}
OVS_BRIDGE: Mapping[str, object] = {
    "fail-mode": "",
    "mcast-snooping-enable": False,
    "rstp": False,
    "datapath": "",
    "stp": {"enabled": False},
}
VLAN: Mapping[str, object] = {
    "protocol": "802.1q",
    "registration-protocol": "none",
    "reorder-headers": True,
    "loose-binding": False,
}


def beyond(found: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """Return the part of *found* whose values differ from *defaults*."""
    return {key: value for key, value in found.items() if key not in defaults or defaults[key] != value}
