"""What is asked before and after an apply, and what does the kernel itself answer?

Asked are the gateways of the default routes in use, the DNS servers of the node, and the targets of the settings. The
kernel knows by itself whether a link has a carrier, and whether another host has an IPv6 address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import MAIN_TABLE, AddressFlag, Link, Snapshot
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import NO_DEMANDS, Demands, Hop, demands
from nodenet.core.settings.model import ProbeTarget
from nodenet.core.uplink_health.watched import gateways, routed
from nodenet.core.value import frozen


class Kind(StrEnum):
    """What a probe looks at; the values are the words of the status."""

    CARRIER = "carrier"
    UNIQUE = "address"
    GATEWAY = "gateway"
    LARGE = "large packets to gateway"
    DNS = "DNS server"
    TARGET = "target"


class Answer(StrEnum):
    """What came back."""

    YES = "answers"
    SMALL = "answers small packets only"
    """Packets as large as the MTU of the link are lost on the way, and no router reports it (RFC 2923, 2.1)."""
    NO = "does not answer"
    UNKNOWN = "cannot be asked"
    NOT_ASKED = "was not asked again"
    """It did not answer before the apply, so an answer would change nothing."""


@frozen
class Question:
    """One probe. *name* is what it is about: an address, a target, a link; *link* is where it is asked."""

    kind: Kind
    name: str
    link: str = ""
    address: IPAddress | None = None
    target: ProbeTarget | None = None

    @property
    def family(self) -> Family | None:
        """The family of its address, None without one."""
        return None if self.address is None else family_of(self.address)

    @property
    def subject(self) -> tuple[Kind, str]:
        """What is compared before and after the apply: the same gateway may be on another link then."""
        return self.kind, self.name


Way = tuple[str, Family]
"""The name of a link, and a family."""


@frozen
class Look:
    """The answers at one moment.

    *hops* are the gateways of default routes in use, *defaults* the families that have a default route. *addressed*
    are the families of each link's addresses that others can reach; *leased* those that the link has from a server, as
    NetworkManager and not the kernel says it: NetworkManager leaves an address on the link for 15 s after it has given
    its lease up. *asked*: what the file that is applied after this look asks for, and *required* the families that the
    node needs whatever the file asks for. *proven*: the node has worked with that file. *had_gateway*: a gateway
    answered before an apply of that file that was interrupted, or with the last known good file; one must answer after
    the apply, also if none answers now.
    """

    answers: Mapping[Question, Answer]
    hops: frozenset[Hop] = frozenset()
    defaults: frozenset[Family] = frozenset()
    addressed: frozenset[Way] = frozenset()
    leased: frozenset[Way] = frozenset()
    asked: Demands = NO_DEMANDS
    required: frozenset[Family] = frozenset()
    proven: bool = False
    had_gateway: bool = False

    @property
    def way_out(self) -> Question | None:
        """The gateway that a new file must not cost the node; a proven one has a way out of its own."""
        return None if self.proven else self.gateway

    @property
    def gateway(self) -> Question | None:
        """A gateway that answers."""
        yes = (question for question, answer in self.answers.items() if answer is Answer.YES)
        return next((question for question in yes if question.kind is Kind.GATEWAY), None)

    @property
    def owes_gateway(self) -> bool:
        """Whether one must answer after the apply although none answers now."""
        return self.had_gateway and self.gateway is None

    def answering(self, families: Collection[Family]) -> frozenset[Hop]:
        """Return the gateways of routes of *families* that answer."""
        yes = {
            (each.name, each.link)
            for each, answer in self.answers.items()
            if each.kind is Kind.GATEWAY and answer is Answer.YES
        }
        return frozenset(hop for hop in self.hops if hop.family in families and (hop.gateway, hop.link) in yes)


NO_LOOK = Look({})


@frozen
class Scope:
    """What the settings ask for.

    The targets, the routing tables whose default routes are used, and the families that the node needs in any case.
    """

    targets: tuple[ProbeTarget, ...] = ()
    tables: tuple[str, ...] = (MAIN_TABLE,)
    families: frozenset[Family] = frozenset()

    def hops(self, snapshot: Snapshot) -> frozenset[Hop]:
        """Return the gateways of the default routes in use."""
        return frozenset(
            Hop(each.link, family, str(each.address), table)
            for table in (MAIN_TABLE, *self.tables)
            for family in Family
            for each in gateways(snapshot, (family,), table)
        )


def questions(
    snapshot: Snapshot, servers: Iterable[IPAddress], scope: Scope, *, large: bool = False
) -> tuple[Question, ...]:
    """Return what other hosts are asked; *servers* are the DNS servers among them.

    *large*: whether gateways are also sent packets as large as the MTU.
    """
    found = [
        Question(Kind.GATEWAY, str(each.address), each.link, each.address)
        for table in dict.fromkeys((MAIN_TABLE, *scope.tables))
        for each in gateways(snapshot, Family, table)
    ]
    found += [
        Question(Kind.LARGE, each.name, each.link, each.address, ProbeTarget(each.address))
        for each in found
        if large and each.address and not each.address.is_link_local  # a socket of its family needs the link for that
    ]
    found += [Question(Kind.DNS, str(server), address=server) for server in servers]
    found += [Question(Kind.TARGET, str(target), target=target) for target in scope.targets]
    return tuple(dict.fromkeys(found))


def look_at(snapshot: Snapshot, answers: Mapping[Question, Answer], scope: Scope, held: Iterable[str] = ()) -> Look:
    """Return *answers* with what the kernel knows besides; *held* are the links that NetworkManager has a lease for.

    A default route leads out of the node; it needs no gateway on a point-to-point link.
    """
    defaults = frozenset().union(*(routed(snapshot, Family, table) for table in {MAIN_TABLE, *scope.tables}))
    addressed = frozenset(
        (each.link, family_of(each.address))
        for each in snapshot.addresses
        if not each.address.is_link_local and AddressFlag.DAD_FAILED not in each.flags
    )
    by_router = {(link, family) for link, family in addressed if family is Family.IPV6}
    leased = by_router | {(link, Family.IPV4) for link in held}
    return Look(answers, scope.hops(snapshot), defaults, addressed, frozenset(leased))


def is_undecided(snapshot: Snapshot, wanted: Sequence[tuple[str, IPAddress]]) -> bool:
    """Return whether the kernel still asks if another host has one of the addresses *wanted* (RFC 4862, 5.4)."""
    asked = {
        (item.link, item.address)
        for item in snapshot.addresses
        if item.is_tentative and AddressFlag.DAD_FAILED not in item.flags
    }
    return not asked.isdisjoint(wanted)


def known(snapshot: Snapshot, links: Collection[str]) -> dict[Question, Answer]:
    """Return what the kernel answers itself about *links*: carriers of those that are up, IPv6 addresses of others."""
    carriers = {
        Question(Kind.CARRIER, link.name, link.name): Answer.YES if link.carrier else Answer.NO
        for link in snapshot.links
        if link.name in links and link.up
    }
    return carriers | {
        Question(Kind.UNIQUE, str(item.address), item.link, item.address): Answer.NO
        for item in snapshot.addresses
        if item.link in links and AddressFlag.DAD_FAILED in item.flags
    }


def has_restarted(before: Snapshot, now: Snapshot, links: Collection[str]) -> bool:
    """Return whether one of *links* lost its carrier in between, or is a bridge that has got a port.

    The port of a switch then forwards only after its spanning tree has learned, and so does that of a bridge, for which
    NetworkManager switches the protocol on by default.
    """
    changes = {link.name: link.carrier_changes for link in before.links if link.name in links}
    bridges = {link.name for link in now.links if link.name in links and link.kind == "bridge"}
    ports = {(link.master, link.name) for link in before.links}
    return any(
        link.carrier_changes != changes.get(link.name, link.carrier_changes)
        or (link.master in bridges and (link.master, link.name) not in ports)
        for link in now.links
    )


def controls(question: Question) -> tuple[Question, ...]:
    """Return questions for addresses beside that of *question*: a router that answers for any address answers these."""
    if question.address is None:
        return ()
    beside = (ip_address(int(question.address) ^ number) for number in (5, 10))
    return tuple(Question(Kind.UNIQUE, str(address), question.link, address) for address in beside)


def new_addresses(snapshot: Snapshot, wanted: Sequence[tuple[str, IPAddress]]) -> Iterator[Question]:
    """Yield the IPv4 addresses of *wanted* (link, address) that another host could have, where that can be asked.

    An address that the node has already is left out, and one of a link that does not exist or has no carrier yet. For
    IPv6 the kernel asks by itself (RFC 4862, 5.4).
    """
    own = {item.address for item in snapshot.addresses}
    usable = {link.name for link in snapshot.links if link.up and link.carrier and not link.master}
    for link, address in wanted:
        if address.version == 4 and address not in own and link in usable:
            yield Question(Kind.UNIQUE, str(address), link, address)


def on_host(wish: Desired, present: Iterable[Link]) -> Desired:
    """Return *wish* with the kernel's names, as far as the links are among the *present* ones."""
    names = _names(wish, list(present))
    if not names or wish.document is None:
        return wish

    def new(found: frozenset[str]) -> frozenset[str]:
        return frozenset(names.get(name, name) for name in found)

    below = {bridge: new(ports) for bridge, ports in wish.links.below.items()}
    links = replace(wish.links, existing=new(wish.links.existing), made=new(wish.links.made), below=below)
    addresses = tuple((names.get(link, link), address) for link, address in wish.addresses)
    return replace(wish, links=links, addresses=addresses, demands=demands(wish.document, names))


def _names(wish: Desired, present: list[Link]) -> Mapping[str, str]:
    """Return name in the file → name of the kernel, where they differ."""
    nics = sorted((each for each in present if each.is_nic), key=lambda each: each.master is None)
    by_mac = {each.hardware_mac.lower(): each.name for each in nics if each.hardware_mac}  # of twins the master
    by_altname = {altname: each.name for each in present for altname in each.altnames}
    taken = {each.name for each in present}
    names = {name: by_altname[name] for name in wish.links.existing - taken if name in by_altname}
    names |= {name: by_mac[mac] for name, mac in wish.links.macs.items() if mac in by_mac}
    return {name: found for name, found in names.items() if name != found}
