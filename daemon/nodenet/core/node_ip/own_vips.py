"""Is one of the VIPs this node's own address?

A VIP moves from node to node. If it is a node's own address, the other nodes lose that node, and the node has no
address to register with. keepalived also puts VIPs on a node. These are recognised because keepalived needs another
address of the node in the same subnet.
"""

from __future__ import annotations

from nodenet.core.kernel.snapshot import Address, AddressFlag
from nodenet.core.node_ip.inputs import SelectionInputs
from nodenet.core.node_ip.rules import Case, Rule, is_labelled_vip

_LONGEST = {4: 32, 6: 128}


def own_vips(inputs: SelectionInputs) -> str | None:
    """Return the sentence that names VIPs that are this node's own addresses, None when none is.

    Once node IPs are published in this boot keepalived may run, so that a VIP on the node says nothing.
    """
    if not inputs.policy.vips or (inputs.sticky and inputs.sticky.this_boot):
        return None
    subnets = [item.case.address for item in inputs.judged if item.rule is not Rule.VIP]
    own = sorted(
        {
            (_setting(case, inputs), str(case.address.address), case.link.name)
            for case, rule in inputs.judged
            if rule is Rule.VIP and _may_be_own(case) and not _beside_another(case.address, subnets)
        }
    )
    if not own:
        return None
    settings = " and ".join(dict.fromkeys(setting for setting, _, _ in own))
    contain = "contains" if len({setting for setting, _, _ in own}) == 1 else "contain"
    addresses = dict.fromkeys(f"{address} ({link})" for _, address, link in own)
    noun = "address" if len(addresses) == 1 else "addresses"
    return f"{settings} {contain} this node's own {noun} {' and '.join(addresses)}"


def _setting(case: Case, inputs: SelectionInputs) -> str:
    return "api_vips" if case.address.address in inputs.policy.api_vips else "ingress_vips"


def _may_be_own(case: Case) -> bool:
    """Return whether an administrator, not keepalived, may have added the VIP.

    keepalived adds it as a host address, with the label `vip`, or as deprecated (keepalived.conf(5)).
    """
    address = case.address
    host = address.prefix_length == _LONGEST[address.address.version]
    deprecated = address.preferred_lifetime == 0 or AddressFlag.DEPRECATED in address.flags
    return not (host or deprecated or is_labelled_vip(case))


def _beside_another(vip: Address, others: list[Address]) -> bool:
    """Return whether the link has another address in the subnet of *vip*."""
    return any(
        other.link == vip.link and other.address.version == vip.address.version and vip.shares_prefix(other.address)
        for other in others
    )
