"""Which node IP does the administrator ask for?"""

from __future__ import annotations

from typing import Literal

from nodenet.core.ip import Family, IPAddress, IPNetwork
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

    *families* in order of preference, all waited for; ``auto``: whatever the chosen link has. *prefer_ipv6* is for
    ``auto`` only.
    *deny_links* are globs beside the built-in ones, *masquerade_subnets* OVN-Kubernetes' beside its own.
    *route_tables* by iproute2's names or numbers.
    """

    api_vips: tuple[IPAddress, ...] = ()
    ingress_vips: tuple[IPAddress, ...] = ()
    hints: tuple[Hint, ...] = ()
    hint_required: bool = False
    families: tuple[Family, ...] | Literal["auto"] = "auto"
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
        return _IPV6_FIRST if self.prefer_ipv6 else _IPV4_FIRST
