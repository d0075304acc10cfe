"""In which cases of the fixtures is our answer another one than that of ``runtimecfg node-ip``, and why?

A case that differs and does not stand here, or stands
here and does not differ, fails a test.
"""

from __future__ import annotations

from typing import NamedTuple

from node_ip_cases import Case
from old_tool import answers


class Difference(NamedTuple):
    """A kind of case, its fixtures (the first one is the example), and why we answer otherwise."""

    words: str
    cases: tuple[str, ...]
    why: str


DIFFERENCES = (
    Difference(
        "the hint is one of the node's own addresses",
        ("hint-own-address",),
        "it is what people mean, no VIP",
    ),
    Difference(
        "the hint is one of its addresses that cannot be used yet",
        (
            *("hint-own-tentative", "hint-own-no-carrier", "hint-own-no-carrier-required"),
            *("hint-own-first-of-several", "hint-own-duplicate"),
        ),
        "its neighbour is not what was asked for",
    ),
    Difference(
        "the hint points to one link, the VIPs to another",
        ("hint-outranks-vip",),
        "the administrator's word is the last",
    ),
    Difference(
        "the hint is a prefix or the name of a link",
        (
            *("hint-prefix", "hint-link", "hint-alternative-name", "hint-required-unmatched", "hint-several-in-order"),
            *("hint-unmatched", "hint-without-default-route", "public-and-private-links", "remote-worker-with-hint"),
            "sticky-yields-to-hint",
        ),
        "one address is no hint for a pool of nodes, and no word in a file may take a node down",
    ),
    Difference(
        "the hint is the name of a link below br-ex",
        (
            *("hint-link-below-br-ex", "hint-link-below-br-ex-userspace", "hint-link-below-bond-below-br-ex"),
            "hint-link-beside-its-vlan",
        ),
        "the addresses of the link moved to the bridge",
    ),
    Difference(
        "OVN-Kubernetes has another masquerade subnet in this cluster",
        (
            *("ovn-masquerade-subnet-by-its-routes", "ovn-masquerade-subnet-by-its-routes-ipv4"),
            "ovn-own-masquerade-subnet",
        ),
        "every node has that address",
    ),
    Difference(
        "a DHCPv6 address beside one that the host made itself",
        ("dhcpv6-before-slaac",),
        "the assigned one is in the site's records and outlives the card",
    ),
    Difference(
        "a VIP of the settings is the node's own static address",
        ("vip-is-own-address",),
        "the VIP moves to other nodes; the stage fails and names the setting",
    ),
    Difference(
        "a hint for each family",
        ("hint-families-independent",),
        "each family is asked for by itself",
    ),
    Difference(
        "two links on the VIP's subnet",
        ("vip-two-links-one-subnet",),
        "metric, then index: the same in every boot",
    ),
    Difference(
        "the VIP's link has no address yet, another one has the default route",
        ("vip-link-without-address",),
        "the order of events must not decide",
    ),
    Difference(
        "a VIP is on the link and no VIP's subnet",
        ("vip-on-default-path",),
        "keepalived moves it away",
    ),
    Difference(
        "a VIP that no setting names, labelled by keepalived",
        ("vip-by-label",),
        "keepalived moves it away",
    ),
    Difference(
        "a VIP as the other family's address",
        ("vip-never-companion",),
        "keepalived moves it away",
    ),
    Difference(
        "the VIP's link has no address of the other family",
        ("vip-other-family-elsewhere",),
        "a setting asks for both",
    ),
    Difference(
        "a VIP or hint names one family, or nothing names the second one, which has no default route",
        (*("vip-names-its-family", "hint-names-its-family", "auto-second-without-route"),),
        "any host of a LAN can announce itself as a router",
    ),
    Difference(
        "the other family is late",
        (*("dual-ipv6-late", "dual-ipv4-late", "tentative-beside-the-leader"),),
        "DHCP, routers and conflict detection take their time; without a wait it is missing for the whole boot",
    ),
    Difference(
        "an order of families is set, and they are on different links",
        ("dual-ipv6-first-split",),
        "a setting is followed to the letter",
    ),
    Difference(
        "one family alone is wanted",
        ("reject-unwanted-family",),
        "there is a setting for it",
    ),
    Difference(
        "an IPv6 address beside an IPv4 default route",
        ("own-family-route-needed",),
        "it cannot be reached through the other family's route",
    ),
    Difference(
        "IPv6 addresses of several subnets, one of them the IPv6 router's",
        ("ipv6-gateway-beside-ipv4",),
        "each family has its own metrics and gateways",
    ),
    Difference(
        "two dual-stack links, IPv6 is preferred and has other metrics than IPv4",
        ("metrics-of-the-preferred-family-ipv6",),
        "each family has its own metrics and gateways",
    ),
    Difference(
        "several addresses on the link",
        ("primary-before-secondary", "secondary-on-br-ex-after-reboot"),
        "a secondary address usually belongs to another program, the lowest number means nothing",
    ),
    Difference(
        "several default routes on a link",
        ("best-of-several-routes",),
        "the best one counts, not the one that is listed first",
    ),
    Difference(
        "a multipath default route",
        ("multipath", "multipath-ipv6", "next-hop-group", "two-gateways-one-link"),
        "it counts for each of its links",
    ),
    Difference(
        "the default route is in another table",
        ("other-table-by-setting",),
        "there is a setting for it",
    ),
    Difference(
        "`unreachable default` of IPv6",
        ("only-unreachable-default", "unreachable-default"),
        "the kernel lists it with `lo`, it leads nowhere",
    ),
    Difference(
        "a router announces the node's address on `lo`",
        ("address-on-lo",),
        "a hint needs no default route and no subnet of the link",
    ),
    Difference(
        "links of pods and containers, and those that are denied",
        ("reject-denied-link", "deny-link-by-setting"),
        "no other node reaches them",
    ),
    Difference(
        "a link that is down or has no carrier",
        ("reject-link-down", "reject-no-carrier"),
        "the node cannot be reached there",
    ),
    Difference(
        "a link whose own name contains `eip`",
        ("link-named-like-egress",),
        "only what follows the link's name is the label",
    ),
    Difference(
        "an IPv4-mapped IPv6 address",
        ("reject-ipv4-mapped", "vip-mapped-contains-nothing"),
        "it is no IPv6 address",
    ),
    Difference(
        "a deprecated IPv4 address",
        ("reject-deprecated-ipv4",),
        "its preferred lifetime is over, as IPv6's",
    ),
    Difference(
        "a privacy address",
        ("reject-temporary",),
        "it changes by design",
    ),
    Difference(
        "an address that another host has, or that cannot be listened on",
        ("reject-dad-failed", "reject-not-bindable"),
        "the next one can be used, the same one would be tried for ever",
    ),
    Difference(
        "the second address is not checked yet",
        ("reject-tentative", "wait-tentative"),
        "CRI-O cannot listen on it",
    ),
    Difference(
        "an address that was published before",
        (
            *("sticky-keeps-over-rank", "sticky-companion", "sticky-companion-elsewhere", "sticky-dual-one-lost"),
            *("sticky-moved-to-bridge", "sticky-gets-no-second-family", "sticky-keeps-its-family-beside-a-vip"),
            *(
                "sticky-other-address-of-its-nic",
                "sticky-renamed-link",
                "sticky-secondary",
                "sticky-this-boot-deprecated",
            ),
            *("sticky-this-boot-link-down", "sticky-this-boot-over-vip", "sticky-this-boot-tentative"),
        ),
        "rejoining a cluster with another address breaks etcd",
    ),
)


def differs(case: Case) -> bool:
    """Whether the old tool may give another answer, or gives the same one without waiting for what is on its way."""
    return _awaited(case) or answers(case.snapshot, case.policy, case.unbindable) != {case.selection().node_ips}


def _awaited(case: Case) -> bool:
    selection = case.selection()
    return bool(selection.missing or selection.pending)
