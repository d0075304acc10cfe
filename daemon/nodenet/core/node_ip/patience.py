"""For what does a selection wait although it has an address, and for how long?

The first boot chooses once NetworkManager has settled the links that may give a better address. Each later boot waits
for the node IP of the boot before as long as its NIC exists. A bad boot teaches the next one nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_ip.choice import link_state, no_address_yet, own_links
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import CURABLE, Rule, is_denied
from nodenet.core.node_ip.select import Candidate, Selection
from nodenet.core.value import frozen

WISHED = frozenset({Rule.HINT, Rule.VIP_SUBNET})
"""What makes an address the one that the settings ask for."""


def unanswered(snapshot: Snapshot, policy: Policy, selection: Selection) -> Family | None:
    """Return the family that *selection* lacks on its link and of which a router or DHCP server may give an address.

    With `auto` it is unknown whether there is a router or a DHCP server, and NetworkManager calls a link activated once
    it has one family. The host asks for a router once its link-local IPv6 address has passed duplicate address
    detection (RFC 4861, section 6.3.7), and for a DHCP lease from the beginning.
    """
    link = selection.link
    families = {family_of(item.address) for item in selection.selected if item.link == link}
    lacking = next(iter(selection.second - families), None)
    if policy.families != "auto" or not families or lacking is None:
        return None
    on_link = [item for item in snapshot.addresses if item.link == link and item.family is lacking]
    asked = bool(on_link) or lacking is Family.IPV4
    return lacking if asked and all(item.address.is_link_local for item in on_link) else None


def rivals(snapshot: Snapshot, policy: Policy, selection: Selection, found: Inventory, *, starting: bool) -> list[str]:
    """Return the links, by index, that may still get a better address, and that NetworkManager has not settled.

    A link behind the chosen one gets the worse metric: it wins by a hint or VIP, or by a profile of an administrator,
    and not by a profile that NetworkManager made by itself. So a cabled NIC without DHCP server delays nothing.
    """
    chosen = {item.link for item in selection.selected}
    index = next((link.index for link in snapshot.links if link.name == selection.link), 0)
    unmet = bool(policy.hints or policy.vips) and all(item.rule not in WISHED for item in selection.selected)

    def is_open(link: str) -> bool:
        state = found.states.get(link, "")
        return link in found.activating or (
            starting and link not in found.settled and not state.startswith("unmanaged")
        )

    return [
        link.name
        for link in own_links(snapshot, policy)
        if link.name not in chosen and is_open(link.name)
        if unmet or link.index < index or link.name in found.activating - found.automatic
    ]


MOST_SECONDS = 60.0
"""For all but the last node IP, from the first address on that could be published."""
ANSWER_SECONDS = {Family.IPV6: 5.0, Family.IPV4: 45.0}
"""For a router or DHCP server of the second family that nothing names: whether there is one is not known.

NetworkManager's DHCP client asks at 0, 2.6, 7.5, 16 and 33 s and gives up after 45 s: relays and switch ports may be
slow, and the families of the first boot stay.
"""
ANSWERS = {Family.IPV6: "an IPv6 router", Family.IPV4: "a DHCP server"}


@frozen
class Wait:
    """What is awaited, and for how many seconds at most; None: without a limit."""

    reason: str
    seconds: float | None = MOST_SECONDS


@frozen
class Seen:
    """What a wait is decided by. *record*: the last publication, if it counts. *found*: what NetworkManager says."""

    selection: Selection
    snapshot: Snapshot
    policy: Policy
    record: LastPublished | None = None
    found: Inventory = field(default_factory=Inventory)
    starting: bool = False
    """Whether NetworkManager's first activations are not over."""


def wait(seen: Seen) -> Wait | None:
    """Return for what *seen*, a selection with node IPs, is not published yet; None: publish."""
    last = list(_last_node_ips(seen))
    if last and last[0].seconds is None:
        return last[0]
    selection, record = seen.selection, seen.record
    waits = [Wait(selection.waiting or "")] if selection.missing else []
    waits += last
    if record is None or record.addresses[0] not in selection.node_ips:
        waits += [Wait(item.reason) for item in selection.pending]
        waits += _better_links(seen)
        if asked := unanswered(seen.snapshot, seen.policy, selection):
            waits.append(Wait(f"no answer from {ANSWERS[asked]} on {selection.link} yet", ANSWER_SECONDS[asked]))
    return max(waits, key=lambda each: each.seconds or 0.0, default=None)


def _better_links(seen: Seen) -> list[Wait]:
    links = rivals(seen.snapshot, seen.policy, seen.selection, seen.found, starting=seen.starting)
    return [
        Wait(f"{link} may still get a better address (NetworkManager: {seen.found.states.get(link, 'starting')})")
        for link in links
    ]


def _last_node_ips(seen: Seen) -> Iterator[Wait]:
    """Yield the waits for the node IPs of the last boot, the primary one first."""
    record = seen.record
    if record is None:
        return
    own = [link for link in seen.snapshot.links if not is_denied(link, seen.policy)]
    exists = any(link.hardware_mac == record.permanent_mac for link in own)
    for address in record.addresses:
        if address not in seen.selection.node_ips and not _is_replaced(address, record, seen):
            primary = address == record.addresses[0]
            reason = f"{address}, the last node IP, to be back{_where(address, record, seen.snapshot)}"
            if primary and exists and record.permanent_mac:
                yield Wait(f"{reason}; `nodenetctl reselect` takes another one", None)
            else:
                yield Wait(reason)


def _where(address: IPAddress, record: LastPublished, snapshot: Snapshot) -> str:
    """Return on which link, and what it lacks."""
    links = [link for link in snapshot.links if link.hardware_mac == record.permanent_mac and record.permanent_mac]
    if not links:
        return f": its NIC {record.permanent_mac} is not on this host" if record.permanent_mac else ""
    link = max(links, key=lambda each: (record.is_on(each), each.master is None, each.index))
    if not (link.up and link.carrier):
        return f" on {link.name}: {link_state(link)}"
    if any(item.link == link.name and item.address == address for item in snapshot.addresses):
        return f" on {link.name}"
    return f": {no_address_yet(link, family_of(address))}"


def _is_replaced(address: IPAddress, record: LastPublished, seen: Seen) -> bool:
    """Return whether another address takes the place of *address*, or none is to have its place.

    That is an address that a hint or VIP asks for, or another one of the same NIC once NetworkManager has settled it:
    one of the node file or of a lease, or of a router in the same prefix.
    And no wait helps where a rule refuses the address for good, or where the profile of its link gives it no longer.
    """
    if family_of(address) not in seen.policy.family_order or address in seen.policy.vips:
        return True
    of_family = [item for item in seen.selection.selected if family_of(item.address) is family_of(address)]
    for item in of_family:
        link = next((each for each in seen.snapshot.links if each.name == item.link), None)
        if item.rule in WISHED and not _as_wished(address, record, item, seen):
            return True
        if item.by_router and int(item.address) ^ int(address) >= 1 << address.max_prefixlen - item.prefix_length:
            continue  # a router alone moves no node IP to another prefix
        if link and record.is_on(link) and _is_settled(item.address, link, seen.found):
            return True
    if _is_taken_away(address, record, seen):
        return True
    on_node = [item for item in seen.selection.candidates if item.address == address]
    return bool(on_node) and all(item.rule not in CURABLE for item in on_node)


def _is_taken_away(address: IPAddress, record: LastPublished, seen: Seen) -> bool:
    """Return whether the active profile of the link says that the link is not to have *address*."""
    section = "ipv4" if family_of(address) is Family.IPV4 else "ipv6"
    devices = {each.link: each for each in seen.found.devices}
    links = [link for link in seen.snapshot.links if record.is_on(link)]
    profiles = [devices[link.name].profile for link in links if link.name in devices]
    if not links or any(link.master or link.name not in seen.found.settled for link in links):
        return False
    return all(
        profile is not None
        and not (profile.setting("connection", "controller") or profile.setting("connection", "master"))
        and profile.setting(section, "method", "auto") != "auto"
        and str(address) not in (entry.get("address") for entry in profile.setting(section, "address-data", ()))
        for profile in profiles
    )


def _as_wished(address: IPAddress, record: LastPublished, other: Candidate, seen: Seen) -> bool:
    """Return whether *address* is asked for as *other* is: in the same subnet, or by a hint no later than *other*."""
    bits = address.max_prefixlen - other.prefix_length
    if int(address) >> bits == int(other.address) >> bits:
        return True
    its = [link for link in seen.snapshot.links if record.is_on(link)]
    others = [link for link in seen.snapshot.links if link.name == other.link]
    position = _hint_of(address, its, seen.policy)
    return position is not None and position <= (_hint_of(other.address, others, seen.policy) or 0)


def _hint_of(address: IPAddress, links: Collection[Link], policy: Policy) -> int | None:
    """Return the position of the first hint that names *address*, a network around it, or one of *links*."""
    names = {name for link in links for name in link.names}
    for position, hint in enumerate(policy.hints):
        network = not isinstance(hint.meaning, str | IPv4Address | IPv6Address) and address in hint.meaning
        if network or hint.meaning == address or hint.meaning in names:
            return position
    return None


def _is_settled(address: IPAddress, link: Link, found: Inventory) -> bool:
    """Return whether *address*, the other one on *link*, is what NetworkManager gives the link in this family."""
    device = {each.link: each for each in found.devices}.get(link.name)
    if device is None or device.profile is None:
        return link.name not in found.activating  # another program's
    if family_of(address) is Family.IPV6:
        return link.name in found.settled
    held = device.lease4.address.ip if device.lease4 else None
    return held == address or device.profile.setting("ipv4", "method") != "auto"
