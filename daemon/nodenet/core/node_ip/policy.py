"""Which node IP does the administrator ask for?"""

from __future__ import annotations

from typing import Literal

from nodenet.core.ip import Family, IPAddress, IPNetwork, family_of
from nodenet.core.kernel.snapshot import MAIN_TABLE
from nodenet.core.node_ip.hints import Hint
from nodenet.core.value import frozen

OVN_KUBERNETES = "OVNKubernetes"
UNSET = ""
"""The network type is not known: addresses of OVN-Kubernetes are not node IPs there either."""
BARE_METAL = "baremetal"
_IPV4_FIRST = (Family.IPV4, Family.IPV6)
_IPV6_FIRST = (Family.IPV6, Family.IPV4)


@frozen
class Policy:
    """What a selection is asked for; the defaults are those of a node without settings.

    *families* in order of preference, all waited for; ``auto``: those of the VIPs, which are waited for, and those that
    a hint or the node file names. *named*: what the node file names, and in a selection the hints as well. Where
    nothing names a family: those of the last boot, in a first boot those with a default route.
    *stated*: the addresses that the node file names.
    *prefer_ipv6* is for ``auto`` only.
    *deny_links* are globs beside the built-in ones, *masquerade_subnets* OVN-Kubernetes' beside its own.
    *route_tables* by iproute2's names or numbers.
    """

    api_vips: tuple[IPAddress, ...] = ()
    ingress_vips: tuple[IPAddress, ...] = ()
    hints: tuple[Hint, ...] = ()
    hint_required: bool = False
    families: tuple[Family, ...] | Literal["auto"] = "auto"
    named: frozenset[Family] = frozenset()
    stated: frozenset[IPAddress] = frozenset()
    prefer_ipv6: bool = False
    network_type: str = OVN_KUBERNETES
    platform: str = "none"
    user_managed_lb: bool = False
    deny_links: tuple[str, ...] = ()
    masquerade_subnets: tuple[IPNetwork, ...] = ()
    route_tables: tuple[str, ...] = (MAIN_TABLE,)

    @property
    def vips(self) -> tuple[IPAddress, ...]:
        """Every VIP."""
        return self.api_vips + self.ingress_vips

    @property
    def family_order(self) -> tuple[Family, ...]:
        """The families that a node IP may have, preferred first."""
        if self.families != "auto":
            return self.families
        order = _IPV6_FIRST if self.prefer_ipv6 else _IPV4_FIRST
        return tuple(family for family in order if family in self.named) if self.named else order

    @property
    def required(self) -> tuple[Family, ...]:
        """The families that are waited for."""
        if self.families != "auto":
            return self.families
        of_vips = set(map(family_of, self.vips))
        return tuple(family for family in _IPV4_FIRST if family in of_vips)
