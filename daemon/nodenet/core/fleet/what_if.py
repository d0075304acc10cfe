"""What would new node files do to each host of a fleet? The daemon's own decisions, on the snapshot of the host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from ipaddress import ip_address
from typing import Any

from nodenet.core.apply.awaited_links import lacking
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.uplink import BRIDGE, main_uplink, refuse_another_uplink
from nodenet.core.errors import NodeFileInvalid, UplinkRefused
from nodenet.core.fleet.after import NO_LEASE, After, after
from nodenet.core.fleet.host import Host, macs_of, reachable
from nodenet.core.history.shown import left_over, left_over_lines, named_in, owned_after
from nodenet.core.hostname import normalised
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_file import content, find, host_values
from nodenet.core.node_file import policy as policies
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import errors, refusal
from nodenet.core.node_file.host_values import Identity, mac_key
from nodenet.core.node_file.yaml_text import Block, load
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import Selection, select
from nodenet.core.value import frozen

TAKEN, UNCHANGED, REFUSED, NO_FILE, UNKNOWN = "taken", "unchanged", "refused", "no file", "not known"
AT_THE_HOST = "`nodenetctl diff` on the host says what it leads to there"
TYPES = {None: "ethernet", "bridge": "linux-bridge", "openvswitch": "ovs-interface", "macvlan": "mac-vlan"}
"""Kinds of the kernel whose type in NMState has another name."""


@frozen
class Outcome:
    """What new files do to a host. *problems* need a decision before the roll-out, *notes* do not."""

    host: str
    role: str
    verdict: str
    file: str = ""
    digest: str = ""
    node_ips: tuple[str, ...] = ()
    link: str = ""
    uplink: str = ""
    addresses: tuple[str, ...] = ()
    default_routes: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    mtu: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reachable: tuple[str, ...] = ()
    """Addresses at which other hosts reach it then."""


@frozen
class NewFiles:
    """The directory of new node files: its names, and what reads one. *known* is what is known of each text."""

    listing: tuple[str, ...]
    read: Callable[[str], bytes]
    known: dict[str, Desired] = field(default_factory=dict)

    def of(self, hostname: str, snapshot: Snapshot) -> NodeFile | None:
        """Return the file of a host, with its values; None if it has none. Raises NodeFileInvalid."""
        name = find.search(normalised(hostname), self.listing).found
        if name is None:
            return None
        file = find.read(name, self.read(name))
        if not (find.is_of_cluster(name) and host_values.placeholders(file.text)):
            return file
        if host_values.TABLE not in self.listing:
            raise NodeFileInvalid(f"{name} asks for values of each host, and there is no {host_values.TABLE}")
        table = host_values.read(self.read(host_values.TABLE))
        row = table.row_of(Identity(normalised(hostname), frozenset(map(mac_key, macs_of(snapshot)))))
        filled = host_values.filled(name, file.text, table, row)
        host_values.need_all(name, file.text, table)
        return find.read(name, filled.encode())

    def of_no_host(self, hosts: Iterable[str]) -> list[str]:
        """Return the files that are for one host, and for none of *hosts*: a name may be wrong."""
        used = set[str | None]()
        for host in hosts:
            with suppress(NodeFileInvalid):  # two files for one host: that host has the problem
                used.add(find.search(normalised(host), self.listing).found)
        return [
            name
            for name in self.listing
            if content.is_node_file(name) and not find.is_of_cluster(name) and name not in used
        ]

    def desired(self, file: NodeFile) -> Desired:
        """Return what *file* asks for. Raises NodeFileInvalid for what is wrong with it."""
        if file.digest not in self.known:
            judged = content.judge(file)
            if wrong := errors(judged.findings):
                raise refusal(file.name, wrong)
            self.known[file.digest] = judged.desired
        return self.known[file.digest]


@frozen
class Known:
    """What a report has beside the snapshot: the present file, and what NMState policies need.

    *network* is the network as libnmstate shows it, *resolved* what policies led to, by the SHA-256 of these.
    """

    old: NodeFile | None = None
    network: Mapping[str, Any] | None = None
    resolved: Mapping[str, str] = field(default_factory=dict)


NOTHING = Known()


def outcome(one: Host, files: NewFiles, policy: Policy, known: Known = NOTHING) -> Outcome:
    """Return what *files* do to a host."""
    stays = Outcome(one.name, one.role, UNKNOWN, reachable=tuple(sorted({*one.addresses, *one.node_ips})))
    if one.snapshot is None:
        return replace(stays, problems=one.missing)
    try:
        file = files.of(one.name, one.snapshot)
        if file is None:
            return replace(stays, verdict=NO_FILE, notes=("no file is for this host: its network stays",))
        wish = files.desired(file)
        if wish.is_policy and (document := _resolved(file, known)):
            file, wish = document, files.desired(document)
        stays = replace(stays, file=file.name, digest=file.digest)
    except NodeFileInvalid as error:
        return replace(stays, verdict=REFUSED, problems=(error.cause,))
    if gone := lacking(wish.links, one.snapshot.links):
        cause = f"{file.name} names {', '.join(gone)}, and this host has no such link"
        return replace(stays, verdict=REFUSED, problems=(cause,))
    if wish.document is None:
        cause = f"{file.name} is an NMState policy, and its report has no readable network.json: {AT_THE_HOST}"
        nothing = replace(stays, verdict=UNCHANGED, notes=(f"{file.name} asks for nothing",))
        return replace(stays, problems=(cause,)) if wish.is_policy else nothing
    made = _predicted(stays, one, wish, policy, known.old)
    if file.policy and made.verdict != UNCHANGED:
        made = with_notes(made, (f"{file.name} is an NMState policy, resolved with the network of the report",))
    return made


def _resolved(policy: NodeFile, known: Known) -> NodeFile | None:
    """Return what *policy* leads to on a host, None if its network is not known. Raises NodeFileInvalid."""
    if text := known.resolved.get(policy.digest):
        return NodeFile.of(policy.name, text, policy=policy.text)
    document = load(policy.name, policy.text)
    if known.network is None or not isinstance(document, Block):
        return None
    made = policies.filled(policy.name, document, known.network)
    return policies.resolved(policy, made, policies.differing(made.document, known.network))


def _predicted(stays: Outcome, one: Host, wish: Desired, policy: Policy, old: NodeFile | None) -> Outcome:
    before = one.snapshot or Snapshot()
    below = _below_bridge(one, before, wish)
    then = after(before, wish.document, below) if wish.document else After(before, {})
    if then.refused:
        return replace(stays, verdict=REFUSED, problems=tuple(dict.fromkeys(then.refused)))
    selection = chosen(one, then.snapshot, policy_of_next_boot(policy, wish))
    uplink, refused = _uplink(one, then.snapshot, selection, wish)
    problems = [*refused, *_ways_out(before, then, policy), *_node_ips(one, then, selection)]
    touched = sorted(below & wish.links.existing)
    notes = [f"{link} is below {BRIDGE}: its IP changes only after `nodenetctl bridge remove`" for link in touched]
    return replace(
        stays,
        verdict=UNCHANGED if stays.digest == one.applied else TAKEN,
        node_ips=tuple(map(str, selection.node_ips)),
        link=selection.link or "",
        uplink=uplink,
        addresses=tuple(shown_addresses(then.snapshot)),
        default_routes=tuple(shown_routes(then.snapshot)),
        routes=then.routes,
        mtu={link.name: link.mtu for link in then.snapshot.links if link.mtu and not link.loopback},
        changes=tuple(_changes(before, then.snapshot)),
        left_over=tuple(_left_over(one, before, wish, old)),
        problems=tuple(problems),
        notes=(*notes, *then.unknown),
        reachable=tuple(sorted({*reachable(selection), *map(str, selection.node_ips)})),
    )


def policy_of_next_boot(policy: Policy, wish: Desired) -> Policy:
    """Return *policy* with the families and addresses that the file names."""
    return replace(policy, named=wish.demands.families, stated=wish.stated)


def chosen(one: Host, snapshot: Snapshot, policy: Policy) -> Selection:
    """Return the selection of the next boot of *one* with the network *snapshot*."""
    link = next((each for each in (one.snapshot or snapshot).links if each.name == one.link), None)
    last = LastPublished(tuple(map(ip_address, one.node_ips)), link.hardware_mac if link else None)
    return select(snapshot, policy, last if one.node_ips else None)


def _below_bridge(one: Host, before: Snapshot, wish: Desired) -> frozenset[str]:
    """Return the links whose IP is on br-ex, which nodenetd made; a file that brings the bridge changes it."""
    if not one.state.get("bridge") or wish.brings_bridge:
        return frozenset()
    return frozenset(link.name for link in before.links if link.master == "ovs-system") | {one.uplink}


def _uplink(one: Host, snapshot: Snapshot, selection: Selection, wish: Desired) -> tuple[str, tuple[str, ...]]:
    """Return the uplink as br-ex would get it, and why it is refused; without br-ex it is the link of the node IP."""
    if not one.state.get("bridge") or wish.brings_bridge:
        return selection.link or "", ()
    state = {"interfaces": [_item(link) for link in snapshot.links], "routes": {"running": list(_running(snapshot))}}
    bridge = {"name": BRIDGE, "type": "ovs-bridge", "bridge": {"port": [{"name": one.uplink}, {"name": BRIDGE}]}}
    state["interfaces"] = [*state["interfaces"], bridge]
    facts = BridgeFacts(state, node_ips=selection.node_ips, node_ip_link=selection.link, remembered=one.uplink)
    try:
        refuse_another_uplink(facts)
        return main_uplink(facts).link, ()
    except UplinkRefused as error:
        return "", (error.cause,)


def _item(link: Link) -> dict[str, Any]:
    kind = "loopback" if link.loopback else TYPES.get(link.kind, str(link.kind))
    return {"name": link.name, "type": kind, "mtu": link.mtu or 1500, "mac-address": link.mac}


def _running(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    for route in snapshot.routes:
        for hop in route.next_hops if route.is_default else ():
            yield {
                "destination": str(route.destination),
                "next-hop-interface": hop.link,
                "next-hop-address": str(hop.gateway or ""),
                "metric": route.metric,
                "table-id": 254 if route.table == "main" else route.table,
            }


def _ways_out(before: Snapshot, then: After, policy: Policy) -> Iterator[str]:
    """Yield the families that lose their default route; a lease that is not there yet may bring it."""
    had, has = (
        {route.family for route in each.routes if route.is_default and route.table in policy.route_tables}
        for each in (before, then.snapshot)
    )
    for family in sorted(had - has, key=str):
        open_end = " unless the new lease brings one" if any(f" {family} " in each for each in then.unknown) else ""
        yield f"no {family} default route is left{open_end}"


def _node_ips(one: Host, then: After, selection: Selection) -> Iterator[str]:
    now, later = list(one.node_ips), list(map(str, selection.node_ips))
    if now and not later:
        awaits = any(NO_LEASE in each for each in then.unknown)
        yield "no address is a node IP then" + (", before the new lease is there" if awaits else "")
    elif now and now != later:
        yield f"the node IPs change from {' '.join(now)} to {' '.join(later)}"


def shown_addresses(snapshot: Snapshot) -> Iterator[str]:
    """Yield the addresses that a host has on its links, in words; not those of lo, and not link-local ones."""
    loopbacks = {link.name for link in snapshot.links if link.loopback}
    found = [one for one in snapshot.addresses if one.link not in loopbacks and not one.address.is_link_local]
    yield from sorted(f"{one.link} {one.address}/{one.prefix_length}" for one in found)


def shown_routes(snapshot: Snapshot) -> Iterator[str]:
    """Yield the default routes in words."""
    for route in sorted(snapshot.routes, key=lambda route: (route.family.value, route.metric)):
        for hop in route.next_hops if route.is_default else ():
            table = "" if route.table == "main" else f" table {route.table}"
            yield f"{route.family} via {hop.gateway or 'no gateway'} on {hop.link}{table}"


def _changes(before: Snapshot, then: Snapshot) -> Iterator[str]:
    for words in (shown_addresses, shown_routes):
        was, now = list(dict.fromkeys(words(before))), list(dict.fromkeys(words(then)))
        yield from (f"- {each}" for each in was if each not in now)
        yield from (f"+ {each}" for each in now if each not in was)
    old = {link.name: link for link in before.links}
    new = {link.name: link for link in then.links}
    yield from (f"- link {name}" for name in sorted(old.keys() - new.keys()))
    yield from (f"+ link {name}" for name in sorted(new.keys() - old.keys()))
    both = ((name, old[name].mtu, new[name].mtu) for name in new if name in old)
    yield from (f"MTU of {name}: {was} -> {now}" for name, was, now in both if was and was != now)


def _left_over(one: Host, before: Snapshot, wish: Desired, old: NodeFile | None) -> Iterator[str]:
    """Yield what the present file has made and the new one does not name, beside what is left over already."""
    known = one.state.get("left_over")
    yield from (str(each) for each in (known if isinstance(known, list) else ())[:50])
    if old is None:
        return
    try:
        had = named_in(content.judge(old).desired.document)
    except NodeFileInvalid:
        return
    shown = {"links": [{"name": link.name, "mtu": link.mtu} for link in before.links], "routes": list(had.routes)}
    unmade = {"links": [{"name": link.name, "mtu": 0} for link in before.links if link.is_nic], "routes": []}
    yield from (
        line.replace("0: ", "the present file: ", 1)
        for line in left_over_lines(left_over(owned_after({}, had, unmade, shown), named_in(wish.document), shown))
    )


def duplicates(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return *outcomes* with a problem for each address that several hosts would have."""
    having: dict[str, list[str]] = {}
    for one in outcomes:
        for address in one.reachable:
            having.setdefault(address, []).append(one.host)
    twice = {address: hosts for address, hosts in having.items() if len(hosts) > 1}
    found: dict[str, list[str]] = {}
    for address, hosts in sorted(twice.items()):
        for host in hosts:
            others = ", ".join(other for other in hosts if other != host) or "another host of this name"
            found.setdefault(host, []).append(f"{address} would be on {others} too")
    return [replace(one, problems=(*one.problems, *found.get(one.host, ()))) for one in outcomes]


def roll_out(outcomes: Iterable[Outcome], share: int = 10) -> list[list[str]]:
    """Return hosts in waves: one of each kind first, then all; a wave has one control-plane node at most.

    Later waves have one of *share* of the workers each. Hosts with a problem or without a change are in none.
    """
    ready = [one for one in outcomes if one.verdict == TAKEN and not one.problems]
    kinds: dict[tuple[Any, ...], list[Outcome]] = {}
    for one in ready:
        shape = tuple(sorted({change.split()[0] + change.split()[1] for change in one.changes}))
        own = find.is_of_cluster(one.file)
        kinds.setdefault((one.role, one.uplink, own, shape), []).append(one)
    first = [same[0] for same in kinds.values()]
    rest = [one for one in ready if one not in first]
    workers = [one.host for one in rest if one.role == "worker"]
    size = max(1, -(-len(workers) // share))
    waves = [[one.host for one in first if one.role == "worker"]]
    waves += [[one.host] for one in (*first, *rest) if one.role != "worker"]
    waves += [workers[start : start + size] for start in range(0, len(workers), size)]
    return [wave for wave in waves if wave]


def with_notes(one: Outcome, notes: Sequence[str]) -> Outcome:
    """Return *one* with more notes."""
    return replace(one, notes=(*one.notes, *notes)) if notes else one


def listed(hosts: Collection[str], most: int = 8) -> str:
    """Return names in one line."""
    names = list(hosts)
    return f"{', '.join(names[:most])}{f' and {len(names) - most} more' if len(names) > most else ''}"
