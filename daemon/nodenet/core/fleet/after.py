"""Which links, addresses and default routes has a host after a node file, from its snapshot alone?

libnmstate changes what the file names and leaves the rest alone. A lease that the host has is kept where the file asks
for one; a lease that it does not have yet is not known. `tools/error_rate.py` compares this with booted nodes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.snapshot import MAIN_TABLE, Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.node_file.links import NICS, NO, bases_of, ports_of
from nodenet.core.node_file.values import interfaces, mac_address, routes, text
from nodenet.core.node_file.yaml_text import Block
from nodenet.core.value import frozen

KERNEL = {"linux-bridge": "bridge", "mac-vlan": "macvlan", "mac-vtap": "macvtap", "ovs-interface": "openvswitch"}
"""Types of NMState whose kind in the kernel has another name."""
METRICS = {None: 100, "veth": 100, "bond": 300, "vlan": 400, "bridge": 425, "dummy": 550, "openvswitch": 800}
"""Of routes without one, by the kind of the link: NetworkManager's defaults."""
GIVEN = frozenset({"dhcp", "ra"})
"""Protocols of routes that a lease or a router gives."""
ALONE = frozenset({"macvlan", "macvtap"})
"""Kinds whose base can be no port of a bridge or bond: both take every packet of a link."""
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
USUAL_MTU = 1500
"""What NetworkManager gives a NIC back that has no profile any more."""
OVERHEAD = {"vxlan": 50}
"""Bytes of the outer packet, over IPv4."""
OF_LEASE = ("auto-gateway", "auto-routes")
NO_LEASE, MAY_NAME, UNDONE, NOT_KNOWN = "no lease yet", "names a gateway", "the file is undone", "not known"
"""Words of what the snapshot cannot say."""
HOLDS_IP = frozenset({"vrf"})
"""Controllers whose ports keep their addresses."""


@frozen
class After:
    """The host after the file; *unknown* is what its snapshot cannot say, *routes* are other routes, in words."""

    snapshot: Snapshot
    names: Mapping[str, str]
    """Name in the file → name of the link, for links that another key identifies."""
    unknown: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Why libnmstate refuses the file for this host."""


def after(before: Snapshot, document: Block, below: Collection[str] = ()) -> After:
    """Return *before* as the *document* of a node file changes it; the IP of links *below* a bridge stays as it is."""
    made = _Network(before, _names(before, document), below)
    items = [item for _, item in interfaces(document) if text(item, "state") != "ignore"]
    for item in items:
        if text(item, "state") in ("absent", "down"):
            made.take_away(item)
    wanted = [item for item in items if text(item, "state") not in ("absent", "down")]
    for item in sorted(wanted, key=lambda item: text(item, "type") not in NICS):
        made.make(item)
    for item in wanted:
        made.connect(item)
    for item in wanted:
        made.address(item)
    words = tuple(word for _, route in routes(document) for word in made.route(route))
    made.note_lost_leases(before)
    return After(made.snapshot(), made.names, tuple(dict.fromkeys(made.unknown)), words, tuple(made.refused))


def _names(before: Snapshot, document: Block) -> dict[str, str]:
    nics = [link for link in before.links if link.is_nic]
    by_mac = {link.hardware_mac.lower(): link.name for link in nics if link.hardware_mac}
    found = {alias: link.name for link in before.links for alias in link.altnames}
    for _, item in interfaces(document):
        if text(item, "identifier") == "mac-address" and (link := by_mac.get(mac_address(text(item, "mac-address")))):
            found[text(item, "name")] = link
    return found


class _Network:
    """What a host has, while a file changes it."""

    def __init__(self, before: Snapshot, names: dict[str, str], below: Collection[str]) -> None:
        self.names = names
        self.unknown: list[str] = []
        self.refused: list[str] = []
        defaults = [route for route in before.routes if route.is_default]
        self._ways = {(route.family, str(hop.gateway)) for route in defaults for hop in route.next_hops}
        self._links = {link.name: link for link in before.links}
        self._addresses = list(before.addresses)
        self._routes = list(before.routes)
        self._below = below

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple(self._links.values()), tuple(self._addresses), tuple(self._routes))

    def _name(self, item: Block) -> str:
        name = text(item, "name")
        return self.names.get(name, name)

    def take_away(self, item: Block) -> None:
        """Remove the IP of a link, and the link itself unless it is hardware."""
        name = self._name(item)
        link = self._links.get(name)
        if link is None or text(item, "type") == "ovs-bridge":
            return
        for family in Family:
            self._clear(name, family)
        if link.is_nic and text(item, "type") != "veth":
            self._links[name] = replace(link, master=None, mtu=link.mtu and USUAL_MTU)
            for each in self._over(name):  # NetworkManager makes it again
                self._links[each.name] = replace(each, mtu=USUAL_MTU - OVERHEAD.get(each.kind or "", 0))
            return
        del self._links[name]
        if link.kind == "veth":
            self._links.pop(link.base or "", None)
        self._links = {
            each.name: replace(each, master=None) if each.master == name else each for each in self._links.values()
        }

    def make(self, item: Block) -> None:
        """Make the link of *item*, and give it its MTU."""
        name, kind = self._name(item), text(item, "type")
        if kind == "ovs-bridge":
            return
        link = self._links.get(name)
        mtu = text(item, "mtu")
        if link is None:
            index = max((each.index for each in self._links.values()), default=0) + 1
            bases = [self.names.get(each, each) for each in bases_of(item)]
            lower = [*bases, *(self.names.get(each, each) for each in ports_of(item))]
            below = next((self._links[each] for each in lower if each in self._links), None)
            mac = text(item, "mac-address").lower() or (below.mac if below else None)
            link = Link(index, name, kind=KERNEL.get(kind, kind), operstate="UP", mac=mac, base=next(iter(bases), None))
            link = replace(link, mtu=(below.mtu if below else USUAL_MTU) - OVERHEAD.get(kind, 0))
            self._refuse_base(link)
        pair = item.get("veth")
        if isinstance(pair, Block) and (peer := text(pair, "peer")) and peer not in self._links:
            self._links[peer] = Link(link.index + 1, peer, kind="veth", mtu=USUAL_MTU, base=name)
            link = replace(link, base=peer)
        if mtu.isdecimal():
            link = replace(link, mtu=int(mtu[:10]))
            for each in self._over(name):  # the kernel lets none have a larger one than its base
                self._links[each.name] = replace(each, mtu=min(each.mtu, link.mtu))
        elif self._is_idle(name):
            self.unknown.append(f"{name} has no address, and the MTU of its profile is {NOT_KNOWN}")
        self._links[name] = replace(link, up=True)

    def _is_idle(self, name: str) -> bool:
        """Return whether a NIC looks as if no profile is active on it."""
        link = self._links.get(name)
        has_address = any(one.link == name for one in self._addresses)
        return link is not None and link.is_nic and not link.master and not has_address

    def _over(self, name: str) -> list[Link]:
        """Return the links whose base is *name*."""
        return [each for each in self._links.values() if each.base == name and each.kind != "veth"]

    def _refuse_base(self, link: Link) -> None:
        """Note the refusal of a MAC VLAN, or of what the kernel has as such, over a port."""
        above = self._master_of(link.base or "")
        if link.kind in ALONE and above:
            self.refused.append(f"{link.base} is a port of {above} and can have no {link.kind} {link.name}")

    def _refuse_new_port(self, port: str, above: str) -> None:
        """Note the refusal of a port that has a MAC VLAN."""
        over = next((each.name for each in self._over(port) if each.kind in ALONE), None)
        if over and self._links[port].master != above:
            self.refused.append(f"{port} is the base of {over} and cannot become a port of {above}")

    def _master_of(self, name: str) -> str:
        link = self._links.get(name)
        above = self._links.get(link.master or "") if link else None
        return above.name if above and above.kind not in HOLDS_IP else ""

    def connect(self, item: Block) -> None:
        """Give the ports of *item* their controller; a port has no IP, unless its controller is a VRF."""
        kind = text(item, "type")
        self._connect_to(item)
        ports = {self.names.get(port, port) for port in ports_of(item)}
        if not ports or kind in NICS:
            return
        name = "ovs-system" if kind == "ovs-bridge" else self._name(item)
        for port in ports & self._links.keys():
            if port == self._name(item):
                continue
            if kind not in HOLDS_IP:
                self._refuse_new_port(port, name)
            self._links[port] = replace(self._links[port], master=name)
            if kind not in HOLDS_IP:
                for family in Family:
                    self._clear(port, family)
        for link in list(self._links.values()):
            if link.master == name and link.name not in ports and kind != "ovs-bridge":
                self._links[link.name] = replace(link, master=None)

    def _connect_to(self, item: Block) -> None:
        """Give the link of *item* the controller that it names; an empty one takes its controller away."""
        if item.get("controller") is None or (link := self._links.get(self._name(item))) is None:
            return
        above = text(item, "controller")
        if above:
            self._refuse_new_port(link.name, above)
        self._links[link.name] = replace(link, master=above or None)
        if self._master_of(link.name):
            for family in Family:
                self._clear(link.name, family)

    def address(self, item: Block) -> None:
        """Give a link the addresses of *item*."""
        name = self._name(item)
        if name in self._below or text(item, "type") == "ovs-bridge":
            return
        for family in Family:
            section = item.get(family.value)
            if isinstance(section, Block):
                self._refuse_port(name, family, section)
                self._family(name, family, section)

    def _refuse_port(self, name: str, family: Family, section: Block) -> None:
        """Note the refusal of an IP for a port: one whose controller the file does not name stays a port."""
        link = self._links.get(name)
        above = self._links.get(link.master or "") if link else None
        asks = isinstance(section.get("address"), Block) or _is_leased(section, family, has_lease=False)
        if above and above.kind not in (*HOLDS_IP, "openvswitch") and asks and not _says_no(section, "enabled"):
            self.refused.append(f"{name} is a port of {above.name} and cannot have an {family} address")

    def _family(self, name: str, family: Family, section: Block) -> None:
        if _says_no(section, "enabled"):
            self._clear(name, family)
            return
        here = [one for one in self._addresses if (one.link, one.family) == (name, family)]
        lease = [self._regenerated(one, section) for one in here if not one.is_permanent]
        leased = _is_leased(section, family, has_lease=bool(lease))
        given = section.get("address")
        kept = [one for one in here if _is_of_kernel(one)]
        if isinstance(given, Block):
            kept += list(_listed(given, name))
        else:
            kept += [one for one in here if one.is_permanent and not _is_of_kernel(one)]
        if leased:
            kept += [one for one in lease if one.address not in {each.address for each in kept}]
            if not lease:
                self.unknown.append(f"{name} asks for an {family} address, and has {NO_LEASE}")
            elif not self._has_way(name, family) and not any(_says_no(section, key) for key in OF_LEASE):
                self.unknown.append(f"{name} has an {family} lease, and whether it {MAY_NAME} is {NOT_KNOWN}")
        self._addresses = [one for one in self._addresses if (one.link, one.family) != (name, family)] + kept
        if not leased or _says_no(section, "auto-routes"):
            self._drop(name, family, lambda route: route.protocol in GIVEN)
        elif _says_no(section, "auto-gateway"):
            self._drop(name, family, lambda route: route.protocol in GIVEN and route.is_default)

    def _regenerated(self, one: Address, section: Block) -> Address:
        """Return a router's address as libnmstate has it made where the *section* asks for one: of the MAC address."""
        link = self._links.get(one.link)
        asks = text(section, "autoconf").lower() not in NO and text(section, "addr-gen-mode") in ("", "eui64")
        is_routers = one.family is Family.IPV6 and one.prefix_length == 64 and AddressFlag.TEMPORARY not in one.flags
        if not (asks and is_routers and link and _MAC.fullmatch(link.mac or "")):
            return one
        octets = bytes.fromhex(str(link.mac).replace(":", ""))
        own = int.from_bytes([octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]])
        return replace(one, address=IPv6Address(int(one.address) >> 64 << 64 | own))

    def _has_way(self, name: str, family: Family) -> bool:
        ways = [route for route in self._routes if route.is_default and route.family is family]
        return any(hop.link == name for route in ways if route.protocol in GIVEN for hop in route.next_hops)

    def note_lost_leases(self, before: Snapshot) -> None:
        """Note which links had a lease *before*, and have none, or no port, any more; a new lease may be instead."""
        if any(NO_LEASE in each for each in self.unknown):
            return
        leased = {one.link for one in before.addresses if not one.is_permanent and not _is_of_kernel(one)}
        lost = leased - {one.link for one in self._addresses if not one.is_permanent}
        empty = {link.master for link in before.links} - {link.master for link in self._links.values()}
        for name in sorted(lost | (leased & empty)):
            what = "lease" if name in lost else "last port"
            self.unknown.append(f"{name} loses its {what}: if no DNS server is left, {UNDONE}")

    def _clear(self, name: str, family: Family) -> None:
        self._addresses = [one for one in self._addresses if (one.link, one.family) != (name, family)]
        self._drop(name, family, lambda _: True)

    def _drop(self, name: str, family: Family, which: Any) -> None:  # noqa: ANN401  (a predicate)
        self._routes = [
            route
            for route in self._routes
            if not (route.family is family and which(route) and any(hop.link == name for hop in route.next_hops))
        ]

    def route(self, item: Block) -> Iterator[str]:
        """Add or remove the route *item*; yield other routes than default ones in words: a snapshot has none."""
        link = self.names.get(text(item, "next-hop-interface"), text(item, "next-hop-interface"))
        destination, gateway = text(item, "destination"), text(item, "next-hop-address")
        if text(item, "state") == "absent":
            self._routes = [route for route in self._routes if not _matches(route, destination, gateway, link)]
            return
        with suppress(ValueError):
            network = ip_network(destination, strict=False)
            if network.prefixlen:
                yield f"{network} via {gateway or 'no gateway'} on {link}"
                return
            hop = NextHop(link, ip_address(gateway) if gateway else None)
            family = family_of(network)
            if family in dict(self._ways) and (family, str(hop.gateway)) not in self._ways:
                self.unknown.append(f"the gateway {gateway} on {link} is new: if it is silent, {UNDONE}")
            number = text(item, "table-id")
            table = MAIN_TABLE if number in ("", "0", "254") else number
            same = [route for route in self._routes if (route.destination, route.next_hops) == (network, (hop,))]
            if not any(route.table == table for route in same):
                kind = self._links[link].kind if link in self._links else None
                metric = text(item, "metric")
                weight = int(metric[:10]) if metric.isdecimal() else METRICS.get(kind, 100)
                self._routes.append(Route(network, (hop,), weight, table, "static"))


def _matches(route: Route, destination: str, gateway: str, link: str) -> bool:
    """Return whether an absent route names *route*; what a lease gives is not removed by it."""
    hops = [hop for hop in route.next_hops if link in ("", hop.link) and gateway in ("", str(hop.gateway))]
    return bool(hops) and route.protocol not in GIVEN and destination in ("", str(route.destination))


def _says_no(section: Block, key: str) -> bool:
    return text(section, key).lower() in NO - {""}


def _is_leased(section: Block, family: Family, *, has_lease: bool) -> bool:
    """Return whether the link has leases then: a key that is not there leaves it as it is."""
    keys = ("dhcp",) if family is Family.IPV4 else ("dhcp", "autoconf")
    values = [text(section, key).lower() for key in keys]
    return any(value not in NO for value in values) or ("" in values and has_lease)


def _is_of_kernel(address: Address) -> bool:
    return address.family is Family.IPV6 and address.address.is_link_local


def _listed(given: Block, link: str) -> Iterator[Address]:
    for entry in given.items:
        length = text(entry, "prefix-length") if isinstance(entry, Block) else ""
        with suppress(ValueError):
            address = ip_address(text(entry, "ip") if isinstance(entry, Block) else "")
            if length.isdecimal() and int(length[:4]) <= address.max_prefixlen:
                yield Address(address, int(length[:4]), link)
