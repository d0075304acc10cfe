"""Which address does ``api-int`` have, and does the cluster run its own API load balancer?

DNS on every node uses one address: that of the resource, else the API VIP. If it is an API VIP, the cluster runs its
own load balancer. Any other address belongs to an external load balancer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address

from nodenet.core.hosted_services.model import ClusterNode, Inputs, Mode, Origin, Role
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.value import frozen

# Which address does ``api-int`` have on this node while the API does not answer where the resource leads?
#
# At rest, the API VIP may replace an external load balancer that has not answered since this node came up, for a
# minute, while the API answers at the VIP: a cluster that comes back from a power cut is not to wait for a machine
# outside. One that has answered once in this boot keeps the name, whatever happens to it later.
#
# While the API moves, the address that has the name has it on trial, because another one serves as well: the VIP, and
# after the switch of DNS the load balancer of before.

PATIENCE_SECONDS = 60.0
TRIAL_SECONDS = 6.0
"""The patience with a load balancer that has the name on trial, in a migration."""
VIP_TRIAL_SECONDS = 15.0
"""That with the VIP: a takeover by another node needs three seconds."""
RETURN_ANSWERS = 5
"""So many good answers in a row give the name back."""
MOST_BYTES = 1024


class Way(StrEnum):
    """Where the name leads."""

    UNTRIED = "untried"
    """Where it should, to an address that has not answered yet in this boot."""
    EXTERNAL = "external"
    """Where it should, to an address that has answered."""
    VIP = "vip"
    """To an address that replaces it."""


@frozen
class Trial:
    """What is known of the *addresses* that should have the name.

    *dead*: those that do not have it, and others that cannot replace them. *since*: when they were first found dead, on
    a monotonic clock; *good*: their good answers in a row.
    """

    addresses: frozenset[IPAddress] = frozenset()
    way: Way = Way.UNTRIED
    dead: frozenset[IPAddress] = frozenset()
    since: float | None = None
    good: int = 0


@frozen
class Look:
    """What one look has found: whether the addresses that should have the name *answer*.

    *dead*: the addresses before the first one that can replace them, empty where none answers. *patience*: how long
    they may be silent, in seconds. *migrates*: whether a migration goes on.
    """

    answers: bool
    dead: frozenset[IPAddress] = frozenset()
    patience: float = PATIENCE_SECONDS
    migrates: bool = False


def after_trial(trial: Trial, now: float, look: Look) -> Trial:
    """Return the trial after one more look."""
    if look.answers:
        good = trial.good + 1
        back = trial.way is not Way.VIP or good >= RETURN_ANSWERS
        kept = replace(trial, since=None, good=good)
        return replace(kept, way=Way.EXTERNAL, dead=frozenset()) if back else kept
    since = now if trial.since is None else trial.since
    on_trial = look.migrates or trial.way is not Way.EXTERNAL
    if on_trial and look.dead and now - since >= look.patience:
        return replace(trial, way=Way.VIP, dead=look.dead, since=since, good=0)
    return replace(trial, since=since, good=0)


def render_trial(trial: Trial) -> bytes:
    """Return the file of this boot that says where the name leads."""
    found: dict[str, object] = {"addresses": _texts(trial.addresses), "way": trial.way.value}
    if trial.way is Way.VIP and trial.dead != trial.addresses:
        found["dead"] = _texts(trial.dead)
    return json.dumps(found).encode() + b"\n"


def parse_trial(content: bytes | None, addresses: Collection[IPAddress]) -> Trial:
    """Return the trial of *addresses* in the file; a file of another kind has none."""
    known, way, gone = _read(content)
    fresh = Trial(frozenset(addresses))
    return replace(fresh, way=way, dead=gone) if known == fresh.addresses else fresh


def dead(content: bytes | None) -> frozenset[IPAddress]:
    """Return the addresses that another one replaces, and what cannot replace them; none while none does."""
    return _read(content)[2]


def _read(content: bytes | None) -> tuple[frozenset[IPAddress], Way, frozenset[IPAddress]]:
    try:
        found = json.loads(content or b"{}")
        addresses, way = frozenset(map(ip_address, found["addresses"])), Way(found["way"])
        gone = frozenset(map(ip_address, found.get("dead", found["addresses"])))
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset(), Way.UNTRIED, frozenset()
    return addresses, way, gone if way is Way.VIP else frozenset()


def _texts(addresses: Collection[IPAddress]) -> list[str]:
    return sorted(map(str, addresses))


# Which address does ``api-int`` have, and whose load balancer is that?

Addresses = tuple[IPAddress, ...]
REPLACED = ", and api-int is "
"""What the problem says where another address takes the place of one where the API does not answer."""


@frozen
class ApiInt:
    """The effective addresses, one a family at most, where they were read, and the mode that follows."""

    addresses: tuple[IPAddress, ...]
    origin: Origin
    mode: Mode
    problem: str | None = None
    """What is wrong with the addresses of the resource, with the remedy; they may still be used (*origin*)."""


def api_int(inputs: Inputs) -> ApiInt:
    """Return the effective address of ``api-int``; addresses of the resource that cannot be right are not used."""
    vips, asked = inputs.options.api_vips, inputs.spec.effective_addresses
    named, *others = ways(inputs)
    used = next((way for way in (named, *others) if not inputs.dead.issuperset(way)), named)
    self_hosted = set(used) == set(vips) and not inputs.options.user_managed_lb
    mode = Mode.SELF_HOSTED if self_hosted else Mode.EXTERNAL
    if used is not named:
        return ApiInt(used, Origin.DEFAULT if used == vips else inputs.spec_origin, mode, _dead(named, used, vips))
    if not asked or set(asked) == set(vips):
        return ApiInt(vips, inputs.spec_origin if asked else Origin.DEFAULT, mode)
    if problem := refusal(asked, vips, inputs.nodes):
        return ApiInt(vips, Origin.DEFAULT, mode, problem)
    return ApiInt(asked, inputs.spec_origin, mode, _claimed(asked, inputs.nodes))


def ways(inputs: Inputs) -> tuple[Addresses, ...]:
    """Return the addresses that ``api-int`` may have on this node, the ones that it should have first.

    Each is used where those before it are dead. Until a migration ends, the load balancer of before it still serves;
    the VIPs take the place of every external one. What the object asks for comes last: this node alone has verified it.
    """
    vips, migration = inputs.options.api_vips, inputs.spec.migration

    def may_be(addresses: Addresses) -> bool:
        return set(addresses) == set(vips) or refusal(addresses, vips, inputs.nodes) is None

    named = inputs.spec.effective_addresses or vips
    if not may_be(named):
        return (vips,)
    before = (migration.origin or vips,) if migration and migration.switched else ()
    moves = migration is not None and not migration.at_rest
    asked = (migration.target if migration and moves else (), inputs.spec.api_int_addresses)
    found = [named, *filter(may_be, before), vips, *(one for one in asked if one and may_be(one))]
    return tuple(one for number, one in enumerate(found) if set(one) not in map(set, found[:number]))


def _dead(named: Addresses, used: Addresses, vips: Addresses) -> str:
    shown, instead = " and ".join(map(str, named)), " and ".join(map(str, used))
    if set(named) == set(vips):
        return (
            f"The API does not answer at its VIP {shown}{REPLACED}the external load balancer {instead} until it does: "
            "see `nodenetctl explain vip`"
        )
    other = "the API VIP" if set(used) == set(vips) else f"the external load balancer {instead}"
    return (
        f"The external load balancer {shown} does not answer{REPLACED}{other} until it does: "
        "see to the load balancer, or remove apiintIpAddress"
    )


def _claimed(asked: Iterable[IPAddress], nodes: Iterable[ClusterNode]) -> str | None:
    """Return which node has one of the addresses.

    A worker reports its addresses itself, and no worker decides where the API of the cluster is: its claim is named,
    and changes nothing.
    """
    owners = {address: node.name for node in nodes for address in node.addresses}
    taken = next((address for address in asked if address in owners), None)
    if taken is None:
        return None
    return f"apiintIpAddress {taken} is the address of node {owners[taken]}: name the load balancer's address"


def refusal(asked: tuple[IPAddress, ...], vips: tuple[IPAddress, ...], nodes: tuple[ClusterNode, ...]) -> str | None:
    """Return what is wrong with the addresses that the resource names; no order of them matters."""
    if both := [address for address in asked if address in vips]:
        return (
            f"apiintIpAddresses mixes the API VIP {both[0]} with other addresses: "
            "name the VIPs only (self-hosted) or the external load balancer's addresses only"
        )
    if claim := _claimed(asked, [node for node in nodes if node.role is Role.CONTROL_PLANE]):
        return claim
    known = {family_of(vip) for vip in vips}
    if strange := next((address for address in asked if known and family_of(address) not in known), None):
        return (
            f"apiintIpAddress {strange} is {family_of(strange)}, and no API VIP is: name an address of a VIP's family"
        )
    return None
