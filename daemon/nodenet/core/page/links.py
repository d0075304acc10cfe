"""How are the links of a node drawn? NICs on the left, what is made of them to the right, then who answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Any

from nodenet.core.page.markup import Parts, entries, pill, strings, table, text
from nodenet.core.value import frozen

WIDE, GAP, STEP, LINE, PAD = 212, 56, 18, 17, 10
"""Of a box, between columns, between boxes, and inside."""
MOST_DRAWN, MOST_LISTED, MOST_OUTSIDE, MOST_ADDRESSES, MOST_COLUMNS = 24, 150, 8, 4, 4
HIDDEN = frozenset({"lo", "ovs-system", "ovs-netdev"})
OPEN_VSWITCH = "Open vSwitch"
OF_PODS = frozenset({"veth", OPEN_VSWITCH, "geneve", "vxlan", "dummy", "ifb"})
"""Kinds of links that are drawn only if they have an address or a part in the path of a node IP."""
NEIGHBOUR = {"REACHABLE": "answers", "FAILED": "does not answer", "INCOMPLETE": "does not answer"}
"""States of the kernel's neighbour table that say something; STALE only says that it was not asked lately."""
_NEIGHBOUR = re.compile(r"^(\S+) dev (\S+)\b.*?\b([A-Z]+)[ \t]*$", re.MULTILINE)
_OF_BRIDGE = re.compile(
    r"^[ \t]*(?:(Bridge|Interface) |(options): \{.*?\bpeer=)\"?([^\s\",}]{1,255}+)\"?(?:[,}].*)?$", re.MULTILINE
)
"""Of what `ovs-vsctl show` prints: the interfaces of a bridge follow its name, the peer a patch port."""
_SPEED = re.compile(r"^([^/\s]+)/speed:(\d{1,7})$", re.MULTILINE)


@frozen
class Link:
    """A link as it is drawn; *below* are the links that it is made of, *patched* bridges behind patch ports."""

    name: str
    kind: str
    mac: str
    mtu: str
    speed: str
    up: bool
    carrier: bool
    addresses: tuple[str, ...]
    below: tuple[str, ...] = ()
    patched: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Carrier, speed and MTU in words."""
        carrier = "carrier" if self.carrier else ("no carrier" if self.up else "down")
        return ", ".join(filter(None, (carrier, self.speed, f"MTU {self.mtu}" if self.mtu else "")))


@frozen
class Outside:
    """A gateway or a DNS server that the node needs, and whether it answers."""

    kind: str
    address: str
    link: str
    answer: str = ""


@frozen
class Drawing:
    """The links of a node and what is outside; *main* are the links with the way out."""

    links: tuple[Link, ...] = ()
    outside: tuple[Outside, ...] = ()
    main: frozenset[str] = field(default_factory=frozenset)


def read(parts: Parts, status: Mapping[str, Any]) -> Drawing:
    """Return the links of a report."""
    items = parts.items("links.json")
    snapshot = parts.mapping("snapshot.json")
    addresses = {str(each.get("ifname")): each for each in entries(snapshot, "addresses")}
    items = items or [{**addresses.get(str(each.get("ifname")), {}), **each} for each in entries(snapshot, "links")]
    speeds = {name: _speed(int(speed)) for name, speed in _SPEED.findall(parts.words("speeds.txt"))}
    below: dict[str, dict[str, None]] = {}
    for item in items:
        name, master, lower = (str(item.get(key) or "") for key in ("ifname", "master", "link"))
        if master and master not in HIDDEN:
            below.setdefault(master, {})[name] = None
        if lower and _kind(item) != "veth":  # the other end of a veth is not below it
            below.setdefault(name, {})[lower] = None
    switches, patches = _switches(parts, status)
    for bridge, ports in switches.items():
        below.setdefault(bridge, {}).update(dict.fromkeys(ports))
    links = tuple(
        replace(
            one,
            below=tuple(islice(below.get(one.name, ()), 64)),
            patched=tuple(sorted(patches.get(one.name, ())))[:64],
            kind=OPEN_VSWITCH if one.name in switches else one.kind,
        )
        for one in (_link(item, speeds) for item in items)
    )
    outside = tuple(_outside(parts, snapshot))
    ways = {one.link for one in outside if one.kind == "gateway"} | {str(status.get("link") or "")}
    return Drawing(links, outside, frozenset(ways - {""}))


def _switches(parts: Parts, status: Mapping[str, Any]) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the bridges of Open vSwitch with the links in them, and those that patch ports connect.

    The kernel knows neither.
    """
    found: dict[str, list[str]] = {}
    peers: dict[str, str] = {}
    bridge = ""
    for what, options, name in _OF_BRIDGE.findall(parts.words("ovs-show.txt")):
        if what == "Bridge":
            bridge = name
            found.setdefault(bridge, [])
        elif options and bridge and found[bridge]:
            peers[found[bridge][-1]] = name
        elif not options and name != bridge and bridge:
            found[bridge].append(name)
    bridges = {port: bridge for bridge, ports in found.items() for port in ports}
    patches: dict[str, set[str]] = {}
    for port, peer in peers.items():
        if peers.get(peer) == port and bridges[port] != bridges[peer]:
            patches.setdefault(bridges[port], set()).add(bridges[peer])
    found = {bridge: [port for port in ports if port not in peers] for bridge, ports in found.items()}
    bridge, uplink = (str(status.get(key) or "") for key in ("bridge", "uplink"))
    if bridge and uplink and uplink not in found.get(bridge, ()):
        found.setdefault(bridge, []).append(uplink)
    return found, patches


def _link(item: Mapping[str, Any], speeds: Mapping[str, str]) -> Link:
    name, flags, info, kind = str(item.get("ifname")), strings(item, "flags"), item.get("linkinfo"), _kind(item)
    data = info.get("info_data") if isinstance(info, dict) else None
    tag = f" {data['id']}" if kind == "vlan" and isinstance(data, dict) and "id" in data else ""
    found = [
        f"{each.get('local')}/{each.get('prefixlen')}"
        for each in entries(item, "addr_info")
        if not str(each.get("local")).startswith("fe80:")
    ]
    mac, mtu = str(item.get("address") or ""), str(item.get("mtu") or "")
    shown = {"vlan": f"VLAN{tag}", "openvswitch": OPEN_VSWITCH, "": "NIC"}.get(kind, kind)
    return Link(name, shown, mac, mtu, speeds.get(name, ""), "UP" in flags, "LOWER_UP" in flags, tuple(found))


def _kind(item: Mapping[str, Any]) -> str:
    info = item.get("linkinfo")
    return str(info.get("info_kind") or "") if isinstance(info, dict) else ""


def _speed(rate: int) -> str:
    return f"{rate / 1000:g} Gbit/s" if rate >= 1000 else f"{rate} Mbit/s"


def _outside(parts: Parts, snapshot: Mapping[str, Any]) -> Iterator[Outside]:
    """Yield gateways and DNS servers; what the kernel knows of a neighbour is newer than the probes of an apply."""
    probed = {
        (str(each.get("what")), str(each.get("name"))): str(each.get("answer"))
        for each in entries(parts.mapping("probes.json"), "probes")
    }
    states = {(address, link): state for address, link, state in _NEIGHBOUR.findall(parts.words("ip-neighbour.txt"))}
    seen = set()
    way = ""
    for route in (*entries(snapshot, "routes"), *entries(snapshot, "routes6")):
        for hop in (route, *entries(route, "nexthops")):
            gateway, link = str(hop.get("gateway") or ""), str(hop.get("dev") or "")
            if route.get("dst") != "default" or not gateway or (gateway, link) in seen:
                continue
            seen.add((gateway, link))
            way = way or link
            answer = NEIGHBOUR.get(states.get((gateway, link), "")) or probed.get(("gateway", gateway), "")
            yield Outside("gateway", gateway, link, answer)
    servers = re.findall(r"^[ \t]*nameserver[ \t]+(\S+)", parts.words("resolv.conf"), re.MULTILINE)
    for server in dict.fromkeys(servers):
        if not server.startswith("127.") and server != "::1":
            yield Outside("DNS server", server, way, probed.get(("DNS server", server), ""))


def chosen(what: Drawing) -> list[Link]:
    """Return the links that are drawn: those of the way out first, then those with addresses, then NICs.

    A bridge is drawn over the bridge behind its patch ports that has the way out, as OVN's over br-ex.
    """
    by_name = {one.name: one for one in what.links}
    path, due = set[str](), [name for name in what.main if name in by_name]
    while due:
        name = due.pop()
        if name not in path:
            path.add(name)
            due += [each for each in by_name[name].below if each in by_name]
    above = {each for one in what.links for each in one.below}

    def rank(name: str) -> tuple[bool, str]:
        return name not in path, name

    known = [one for one in what.links if one.name not in HIDDEN]
    drawn = [one for one in known if one.name in path or one.addresses or one.patched or one.kind not in OF_PODS]
    drawn = [
        replace(one, below=(*one.below, *(each for each in one.patched if rank(each) < rank(one.name))))
        for one in drawn or known
    ]
    drawn.sort(key=lambda one: (one.name not in path, not one.addresses, one.name not in above and not one.below))
    return drawn[:MOST_DRAWN]


def _columns(drawn: Sequence[Link]) -> list[list[Link]]:
    """Return the links by their distance from a NIC; links from outside may be made of each other in a circle."""
    by_name = {one.name: one for one in drawn}
    depth = dict.fromkeys(by_name, 0)
    for _ in range(MOST_COLUMNS - 1):
        for one in drawn:
            lower = [depth[each] + 1 for each in one.below if each in by_name and each != one.name]
            depth[one.name] = min(max([0, *lower]), MOST_COLUMNS - 1)
    columns = [[one for one in drawn if depth[one.name] == number] for number in range(MOST_COLUMNS)]
    return [column for column in columns if column]


def svg(what: Drawing) -> str:
    """Return the drawing as SVG; its style is that of the page."""
    drawn = chosen(what)
    outside = what.outside[:MOST_OUTSIDE]
    places: dict[str, tuple[float, float, float]] = {}
    boxes: list[str] = []
    bottom = 0.0
    columns = _columns(drawn)
    for number, column in enumerate(columns):
        x, free = number * (WIDE + GAP) + 2, 2.0
        for one in column:
            rows = _rows(one)
            height = PAD * 2 + LINE * len(rows) - 3
            centres = [places[each][1] + places[each][2] / 2 for each in one.below if each in places]
            y = max(free, sum(centres) / len(centres) - height / 2) if centres else free
            places[one.name] = (x, y, height)
            boxes.append(_box(x, y, height, rows, _class(one, what)))
            free = y + height + STEP
            bottom = max(bottom, free)
    x, free = len(columns) * (WIDE + GAP) + 2, 2.0
    lines = [_line(places[each], places[one.name], one) for one in drawn for each in one.below if each in places]
    for each in outside:
        style = {"answers": "good", "does not answer": "bad"}.get(each.answer, "quiet")
        rows = [(each.address, "name"), (each.kind, "quiet"), (each.answer or "not known whether it answers", style)]
        place = (x, free, PAD * 2.0 + LINE * 3 - 3)
        boxes.append(_box(*place, rows, {"good": "box-ok", "bad": "box-failed"}.get(style, "box")))
        if each.link in places:
            lines.append(_line(places[each.link], place, None, lost=style == "bad"))
        free += place[2] + STEP
    bottom, width = max(bottom, free), max(x + (WIDE if outside else -GAP) + 2, WIDE)
    return (
        f'<svg class="links" width="{width:g}" height="{bottom:g}" viewBox="0 0 {width:g} {bottom:g}" role="img" '
        f'aria-label="The links of this node, from its NICs to its gateways">\n'
        + "\n".join([*lines, *boxes])
        + "\n</svg>"
    )


def _rows(one: Link) -> list[tuple[str, str]]:
    """Return the lines in the box of a link, each with its class."""
    more = len(one.addresses) - MOST_ADDRESSES
    return [
        (one.name, "name"),
        (one.kind, "quiet"),
        (one.state, "good" if one.carrier else ("bad" if one.up else "quiet")),
        *([(one.mac, "quiet")] if one.mac else []),
        *((each, "address") for each in one.addresses[:MOST_ADDRESSES]),
        *([(f"and {more} more addresses", "quiet")] if more > 0 else []),
        *((f"patch port to {each}", "quiet") for each in one.patched[:2]),
    ]


def _class(one: Link, what: Drawing) -> str:
    return "box-failed" if one.up and not one.carrier else ("box main" if one.name in what.main else "box")


def _box(x: float, y: float, height: float, rows: Sequence[tuple[str, str]], style: str) -> str:
    lines = "".join(
        f'<text class="{kind}" x="{x + 12:g}" y="{y + PAD + LINE * number + 12:g}">{text(words, 30)}</text>'
        for number, (words, kind) in enumerate(rows)
    )
    title = f"<title>{text(', '.join(words for words, _ in rows))}</title>"
    return f'<g class="{style}">{title}<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{height:g}" rx="7"/>{lines}</g>'


def _line(
    one: tuple[float, float, float], other: tuple[float, float, float], link: Link | None, *, lost: bool = False
) -> str:
    x1, y1, x2, y2 = one[0] + WIDE, one[1] + one[2] / 2, other[0], other[1] + other[2] / 2
    middle = (x1 + x2) / 2
    style = ' class="lost"' if lost or (link is not None and link.up and not link.carrier) else ""
    return f'<path{style} d="M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"/>'


def listing(what: Drawing) -> str:
    """Return the same as a table, with the links that are not drawn."""
    rows = [
        (
            text(one.name, 64),
            text(one.kind),
            text(one.state) if one.carrier else pill(one.state, "failed" if one.up else "quiet"),
            text(one.mac),
            "<br>".join(text(each) for each in one.addresses[:16]),
            text(", ".join((*one.below[:8], *(f"patch port to {each}" for each in one.patched[:8])))),
        )
        for one in what.links[:MOST_LISTED]
    ]
    more = len(what.links) - MOST_LISTED
    note = f'<p class="quiet">and {more} more links, which are in the archive.</p>' if more > 0 else ""
    return table(f"{len(what.links)} links", ("link", "kind", "state", "MAC", "addresses", "made of"), rows) + note


def answers(what: Drawing) -> str:
    """Return gateways and DNS servers as a table."""
    rows = [
        (text(each.address), text(each.kind), text(each.link), _answer(each.answer))
        for each in what.outside[:MOST_LISTED]
    ]
    return table("Gateways and DNS servers", ("address", "what", "over", "answer"), rows) if rows else ""


def _answer(answer: str) -> str:
    return pill(answer or "not known", {"answers": "ok", "does not answer": "failed"}.get(answer, "quiet"))
