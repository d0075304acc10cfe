"""Who answers DNS on the node, and has the stage of hosted services done its work?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.hosted_services.model import COMPANION, ON_PREMISES, RESOURCE, UNITS, Here, Mode, Service
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen

# Why does this node's dnsmasq not answer, and what can an administrator do?

UNIT = UNITS[Service.DNSMASQ]


def of(cause: str, remedy: str) -> Problem:
    """Return a problem of this node's DNS; an empty *remedy* leads to the unit."""
    return Problem(Message.NODE_DNS_FAILED, cause, remedy or f"See `systemctl status {UNIT}`")


def down(running: Running) -> Problem:
    """Return why the unit does not run."""
    if not running.is_loaded:
        return of(f"{UNIT} cannot be started: {running.why_down}", "Install nodenet's units again")
    return of(f"{UNIT} does not run: {running.why_down}", f"See `journalctl -u {UNIT}`")


def missing(program: str) -> Problem:
    """Return that the *program* of the unit is not on this node."""
    return of(
        f"dnsmasq of this node is not started: {program} is not installed",
        'Install dnsmasq, or set `enabled = "no"` in `[hosted]`',
    )


def nameless() -> Problem:
    """Return that dnsmasq runs and cannot be called."""
    return of(f"{UNIT} is not on the system bus: its servers cannot be set", "See `journalctl -b -u dbus`")


def taken(reason: str) -> Problem:
    """Return that another program has dnsmasq's port."""
    cause = f"dnsmasq of this node is not started: {reason}"
    return Problem(Message.NODE_DNS_FAILED, cause, 'Stop that program, or set `enabled = "no"` in `[hosted]`')


# Which clients may query this node's dnsmasq? This node and its pods, and no host outside. (nft(8))
#
# dnsmasq asks other servers for every client that reaches it, and hosts outside would use it to attack others (RFC
# 5358). A node answers for its addresses on each of its links, so that every link which leads to other hosts is
# guarded. Programs of this node come in by the loopback link, and pods by links that lead to pods alone. Only the
# addresses that dnsmasq listens on are guarded: another DNS server on another address stays as it is.

TABLE = "inet nodenet_dns"
REMOVAL = f"table {TABLE}\ndelete table {TABLE}\n"
"""Removes the table, and is no error where there is none: it is declared first."""
POD_KINDS = frozenset({"veth", "netkit", "openvswitch", "dummy", "ifb"})
"""Kinds of links that network plugins make for pods (ip-link(8)). Pods ask their own node, so that no tunnel is one."""
_PLAIN = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
OVS_KIND = "openvswitch"
_WITHOUT_LINK = frozenset({"dpdk", "afxdp"})
"""Cards that Open vSwitch drives itself: the kernel may have no link of their name."""


def outside(here: Here, snapshot: Snapshot, bridges: Iterable[OvsBridge] = ()) -> tuple[str, ...]:
    """Return the links by which other hosts reach this node, by name: all but loopback and those of pods.

    *bridges* are those of Open vSwitch: the kernel does not say which of its ports have a cable.
    """
    subnets = _with_neighbours(snapshot)
    bridged = {link.master for link in snapshot.links if link.master and link.kind not in POD_KINDS}
    switched = _switched(snapshot, bridges)

    def leads_out(link: Link) -> bool:
        match link.kind:
            case "bridge":
                return link.name in bridged
            case "veth":  # as the only cards of a node that is a container itself
                return link.name in subnets and link.master is None
            case "openvswitch":
                return link.name in subnets and link.name in switched
        return link.kind not in POD_KINDS

    found = {link.name for link in snapshot.links if not link.loopback and leads_out(link)}
    return tuple(sorted(found | _carriers(here)))


def open_questions(here: Here, snapshot: Snapshot) -> frozenset[str]:
    """Return what the answer of Open vSwitch's database depends on; empty where nothing is to be asked.

    Its links with neighbours, other than those of the node IPs, and the cards that have been given to a bridge.
    """
    subnets = _with_neighbours(snapshot) - _carriers(here)
    asked = {link.name for link in snapshot.links if link.kind == OVS_KIND and link.name in subnets}
    cards = {link.name for link in snapshot.links if link.master and link.kind not in POD_KINDS}
    return frozenset(asked | cards) if asked else frozenset()


def _carriers(here: Here) -> set[str]:
    return {place.link for place in here.places.values()}


def _with_neighbours(snapshot: Snapshot) -> set[str]:
    return {one.link for one in snapshot.addresses if _is_of_a_network(one.prefix_length, one.address.is_link_local)}


def _switched(snapshot: Snapshot, bridges: Iterable[OvsBridge]) -> set[str]:
    """Return the links of Open vSwitch that are the host's own: bridges, and the ports of a bridge with a card.

    A network plugin gives its address to a port of another name than its bridge, and pods reach that bridge by veth.
    """
    cards = {link.name for link in snapshot.links if not link.loopback and link.kind not in POD_KINDS}
    found = set()
    for bridge in bridges:
        interfaces = [one for port in bridge.ports for one in port.interfaces]
        found.add(bridge.name)
        if any(one.kind in _WITHOUT_LINK or (one.kind in PHYSICAL and one.name in cards) for one in interfaces):
            found |= {one.name for one in interfaces}
    return found


def _is_of_a_network(prefix_length: int, link_local: bool) -> bool:  # noqa: FBT001
    """Return whether an address has neighbours: that of the end of a pod's cable is alone (/32)."""
    return prefix_length not in (32, 128) and not link_local


def rules(here: Here, links: Iterable[str]) -> str:
    """Return the rules in nft's syntax, which replace the whole table in one transaction. *links* are outside."""
    lines = "".join(f"        {line}\n" for line in (_LOOPBACK, *_refusals(here, _matched(links))))
    chain = f"    chain from_outside {{\n        type filter hook input priority 0; policy accept;\n{lines}    }}\n"
    return f"{REMOVAL}table {TABLE} {{\n{chain}}}\n"


_DNS = "meta l4proto { tcp, udp } th dport 53"
_LOOPBACK = f'iifname != "lo" ip daddr 127.0.0.1 {_DNS} drop'
"""The kernel lets such a packet in where a network plugin has set route_localnet."""


def _matched(links: Iterable[str]) -> str:
    names = tuple(links)
    quoted = ", ".join(f'"{name}"' for name in names)
    # A name with a quote would end the string; then every link but loopback is outside.
    if not names or not all(map(_PLAIN.fullmatch, names)):
        return 'iifname != "lo"'
    return f"iifname {{ {quoted} }}"


def _refusals(here: Here, links: str) -> Iterable[str]:
    for place in here.places.values():
        protocol = "ip6" if family_of(place.address) is Family.IPV6 else "ip"
        yield f"{links} {protocol} daddr {place.address} {_DNS} reject"


# Which link must forward packets between the network and the pods?
#
# On-premises platforms with VIPs need it on the link that carries the node IP, and only there (ip-sysctl in the
# kernel's documentation: ``conf/LINK/forwarding``). NetworkManager handles router advertisements by itself, so it
# does not matter that the kernel ignores them on a forwarding link.

SYSCTLS = ("net/ipv4/conf/forwarding", "net/ipv6/conf/forwarding")


def forwarding_link(settings: Settings, facts: Facts) -> str | None:
    """Return the link that carries the node IP now and has to forward, None while there is none."""
    if settings.platform not in ON_PREMISES or not settings.api_vips or facts.selection is None:
        return None
    moved = facts.bridge is not None and facts.selection.link == facts.uplink
    return facts.bridge if moved else facts.selection.link


def to_set(present: Mapping[str, str]) -> dict[str, str]:
    """Return what differs of a link's *present* settings; a family that the kernel lacks has none."""
    return {name: "1" for name in SYSCTLS if present.get(name, "1") != "1"}


# Has nodenet-hosted decided, does this node's DNS answer, and what is wrong if not?

PATIENCE_SECONDS = 30.0
"""How long READY waits: a kubelet that never starts would keep the API servers from running at all."""
LOOK_SECONDS = 1.0
WELL_SECONDS, UNWELL_SECONDS = 60.0, 5.0
_LOOK_AT_COMPANION = f"See `journalctl -u {COMPANION}`"
_CORRECT = f"Correct {RESOURCE} or the object in the API; a cache is written again when the API answers"
_LOOK_AT_DNS = "See `nodenetctl status` and `journalctl -u nodenet-dnsmasq.service`"


@frozen
class Verdict:
    """What the stage says: its line, what it still waits for (empty: nothing), a problem, and when it looks again."""

    detail: str
    awaited: str = ""
    problem: Problem | None = None
    seconds: float = WELL_SECONDS


def verdict(
    plan: Plan,
    unusable: tuple[str, ...],
    companion: Running | None,
    *,
    silent: tuple[IPAddress, ...] | None,
    stuck: Problem | None = None,
) -> Verdict:
    """Return the verdict. *unusable*: inputs that cannot be used; *companion*: None while systemd does not answer.

    *silent*: the node IPs that answer no DNS; None where this node's DNS is not ours to run now. *stuck*: what keeps
    DNS from answering and does not pass by itself.
    """
    awaited, failed = _missing(companion, silent or (), stuck)
    contradictions = (
        Problem(Message.HOSTED_PROBLEM, *parts)
        for parts in (*((one, _CORRECT) for one in unusable), *map(_parts, plan.problems))
    )
    problem = failed or next(iter(contradictions), None)
    detail = _detail(plan, served=silent is not None)
    return Verdict(detail, awaited, problem, UNWELL_SECONDS if failed else WELL_SECONDS)


def _missing(
    companion: Running | None, silent: tuple[IPAddress, ...], stuck: Problem | None
) -> tuple[str, Problem | None]:
    """Return what may still come, in words, and the problem that it is once the patience is over."""
    if companion is None:
        return f"systemd, to ask for {COMPANION}", _companion_down("systemd does not answer")
    if not companion.is_up:
        fits = companion.is_loaded and not companion.missing
        passes = companion.is_settling or (companion.active == "inactive" and fits)
        awaited = f"{COMPANION}, which decides about VIPs ({companion.why_down})" if passes else ""
        return awaited, _companion_down(f"{COMPANION} does not run: {companion.why_down}")
    if silent and stuck:
        return "", stuck
    if silent:
        shown = " and ".join(map(str, silent))
        cause = f"No DNS server answers on the node IP {shown}"
        return f"DNS on the node IP {shown}", Problem(Message.NODE_DNS_FAILED, cause, _LOOK_AT_DNS)
    return "", None


def _companion_down(cause: str) -> Problem:
    return Problem(Message.HOSTED_FAILED, cause, _LOOK_AT_COMPANION)


def _parts(sentence: str) -> tuple[str, str]:
    """Return cause and remedy of a sentence that has both, with a colon between."""
    cause, _, remedy = sentence.rpartition(": ")
    return (cause, f"{remedy[:1].upper()}{remedy[1:]}") if cause else (sentence, "See `nodenetctl hosted`")


def _detail(plan: Plan, *, served: bool) -> str:
    return "; ".join(_facts(plan, served=served))


def _facts(plan: Plan, *, served: bool) -> Iterator[str]:
    addresses = " and ".join(map(str, plan.api_int.addresses))
    kind = "an external load balancer" if plan.mode is Mode.EXTERNAL else "the API VIP"
    yield f"api-int is {addresses}, {kind}"
    if not served:
        yield "DNS is not served by nodenet now"
    held = [str(vip.address) for vip in plan.vips if vip.wanted]
    kept = [str(vip.address) for vip in plan.vips if not vip.wanted]
    if held:
        yield f"may hold {' and '.join(held)}"
    if kept:
        yield f"does not hold {' and '.join(kept)}"
    if any(duty.wanted for duty in plan.duties if duty.service is Service.HAPROXY):
        yield "balances the API"
