"""Which of the kernel's settings of a link move to the bridge with its addresses?

The names are those of ip-sysctl in the kernel's documentation. This is a list of what moves, not of what stays: a
setting that is read-only (``mc_forwarding``), that the kernel or NetworkManager computes, or that a later kernel adds
must not make br-ex impossible.
"""

from __future__ import annotations

_BOTH = (
    *("accept_redirects", "accept_source_route", "disable_policy", "drop_unicast_in_l2_multicast", "forwarding"),
    "ignore_routes_with_linkdown",
)
_IPV4 = (
    *("accept_local", "arp_accept", "arp_announce", "arp_evict_nocarrier", "arp_filter", "arp_ignore", "arp_notify"),
    *("bc_forwarding", "bootp_relay", "disable_xfrm", "drop_gratuitous_arp", "force_igmp_version"),
    *("igmpv2_unsolicited_report_interval", "igmpv3_unsolicited_report_interval", "log_martians", "medium_id"),
    *("promote_secondaries", "proxy_arp", "proxy_arp_pvlan", "route_localnet", "rp_filter", "secure_redirects"),
    *("send_redirects", "shared_media", "src_valid_mark"),
)
_IPV6 = (
    *("accept_dad", "accept_ra", "accept_ra_defrtr", "accept_ra_from_local", "accept_ra_min_hop_limit"),
    *("accept_ra_min_lft", "accept_ra_mtu", "accept_ra_pinfo", "accept_ra_rt_info_max_plen"),
    *("accept_ra_rt_info_min_plen", "accept_ra_rtr_pref", "accept_untracked_na", "autoconf", "dad_transmits"),
    *("drop_unsolicited_na", "enhanced_dad", "force_mld_version", "force_tllao", "hop_limit", "keep_addr_on_down"),
    *("mldv1_unsolicited_report_interval", "mldv2_unsolicited_report_interval", "ndisc_evict_nocarrier"),
    *("ndisc_notify", "ndisc_tclass", "optimistic_dad", "proxy_ndp", "ra_defrtr_metric", "ra_honor_pio_life"),
    *("router_probe_interval", "router_solicitation_delay", "router_solicitation_interval"),
    *("router_solicitation_max_interval", "router_solicitations", "seg6_enabled", "seg6_require_hmac"),
    *("suppress_frag_ndisc", "use_oif_addrs_only", "use_optimistic"),
)
MOVED = frozenset(
    f"net/{family}/conf/{name}"
    for family, names in (("ipv4", (*_BOTH, *_IPV4)), ("ipv6", (*_BOTH, *_IPV6)))
    for name in names
)
"""By name below ``/proc/sys`` with the link left out."""
