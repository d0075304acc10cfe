"""Who made the br-ex that exists, and is it consistent?

Three places describe a bridge: NetworkManager's profiles, the database of Open vSwitch and the kernel's links. They
can disagree after a power cut, a restored backup or a script's failure. nodenet repairs what it made itself, what the
script configure-ovs.sh made, and what NetworkManager made for a profile that no longer exists. It reports everything
else and does not change it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

from nodenet.core.br_ex.facts import ADOPTED, MARK, BridgeFacts
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.source import source_of, takes_over
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.way_back import Network
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import MADE_BY_NM, Profile
from nodenet.core.nmstate import state
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge, OvsInterface, OvsPort
from nodenet.core.value import frozen

EXTERNAL_IDS = "ovs-external-ids"
PATCH = "patch"
NMSTATE_SUFFIX = {"ovs-bridge": "-br", "ovs-interface": "-if"}
"""How libnmstate ends the names of the profiles it makes for a bridge."""


class Owner(StrEnum):
    """Who made the bridge."""

    NONE = "nobody"
    """There is no bridge. `explain br-ex --json` has the word since its first version."""
    OURS = "ours"
    OLD_SCRIPT = "old-script"
    NMSTATE = "nmstate"
    LEFT_OVER = "left-over"
    """NetworkManager made it for a profile that is gone: the old script's profiles are lost at each boot."""
    FOREIGN = "foreign"


class Rule(StrEnum):
    """What is inconsistent, by its name in `explain br-ex`."""

    BRIDGE_WITHOUT_PROFILE = "bridge-without-profile"
    PROFILE_WITHOUT_BRIDGE = "profile-without-bridge"
    PORT_WITHOUT_LINK = "port-without-link"
    WITHOUT_UPLINK = "without-uplink"
    OTHER_UPLINK = "other-uplink"
    TAKES_OVER = "takes-over"
    FOREIGN_BRIDGE = "foreign-bridge"
    FOREIGN_PORT = "foreign-port"
    NOT_MARKED = "not-marked"
    NOT_WANTED = "not-wanted"
    ADDRESS_BELOW = "address-below"


HARMLESS = frozenset({Rule.NOT_MARKED, Rule.FOREIGN_PORT})
"""A bridge with only these findings needs no change."""


@frozen
class Finding:
    """One inconsistency; *ours*: nodenet may repair it."""

    rule: Rule
    bridge: str
    sentence: str
    ours: bool
    port: str = ""
    """Of the database, where the finding is about one."""


@frozen
class BridgeCondition:
    """A bridge as it is now. *uplink* is the link that is its port, None where there is none.

    *profiles* are the UUIDs of its profiles: bridge, ports, interfaces and the uplink's, in that order.
    """

    bridge: str
    owner: Owner
    uplink: str | None
    profiles: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing has to be repaired."""
        whole = all(finding.rule in HARMLESS for finding in self.findings)
        return self.owner is not Owner.NONE and self.uplink is not None and whole


def condition_of(facts: BridgeFacts, bridge: str = BRIDGE, wanted: str | None = None) -> BridgeCondition:
    """Return the condition of *bridge*; *wanted* is the uplink it should have, None where it should not exist."""
    profiles = profiles_of(facts.profiles, bridge)
    row = facts.bridge(bridge)
    owner = _owner(bridge, row, profiles)
    uplink = facts.uplink_of(bridge)
    findings = tuple(_findings(facts, bridge, owner, uplink, wanted))
    return BridgeCondition(bridge, owner, uplink, tuple(profile.uuid for profile in profiles), findings)


def profiles_of(profiles: Collection[Profile], bridge: str) -> tuple[Profile, ...]:
    """Return the *profiles* that make *bridge*: its own, then ports, then interfaces, each kind by name."""
    own = [profile for profile in profiles if profile.kind == "ovs-bridge" and profile.link == bridge]
    ports = [profile for profile in profiles if profile.kind == "ovs-port" and _controller(profile) in _ids(own)]
    inside = [profile for profile in profiles if profile not in ports and _controller(profile) in _ids(ports)]
    return tuple(profile for kind in (own, ports, inside) for profile in sorted(kind, key=lambda each: each.uuid))


def orphans(profiles: tuple[Profile, ...], uuids: Collection[str]) -> tuple[Profile, ...]:
    """Return those of *uuids* that are ports of an Open vSwitch bridge of which a profile is gone.

    Without the profiles of the bridge and the port NetworkManager never activates them (nm-settings(5),
    ``connection.controller``): their links stay down. Without the interface of the bridge nothing has the addresses:
    a power cut while the network from before the bridge is restored may leave just that.
    """
    ports = [each for bridge in profiles if bridge.kind == "ovs-bridge" for each in _whole(profiles, bridge)]
    below = [each for each in profiles if each.uuid in uuids and is_port(each)]
    return tuple(each for each in below if _controller(each) not in _ids(ports))


def _whole(profiles: tuple[Profile, ...], bridge: Profile) -> list[Profile]:
    """Return the ports of *bridge*, none where it has no interface."""
    ports = [each for each in profiles if each.kind == "ovs-port" and _controller(each) in _ids([bridge])]
    inside = (each for each in profiles if each.kind == "ovs-interface")
    return ports if any(_controller(each) in _ids(ports) for each in inside) else []


def network_before(
    record: BridgeRecord, now: Inventory, present: Iterable[KeptProfile], old_names: Collection[str] = ()
) -> Network:
    """Return the network from before the bridges of *record*; *present* are the profiles of *now*.

    Only Open vSwitch's profiles are the bridges' own. An uplink keeps a profile that another program gave it since, and
    its own profile where that is no port: an administrator has changed it. *old_names* are those of renamed uplinks.
    """
    links = {*record.uplinks, *record.uplinks.values(), *old_names}
    known = {each.uuid: each for each in now.profiles}
    own = {each.uuid for each in now.profiles if each.kind.startswith("ovs-") or is_port(each)}
    plain = {uuid: each.link for uuid, each in known.items() if uuid not in own}
    theirs = readdressed(record, now)
    originals = {link: kept for link, kept in record.originals.items() if link not in theirs}
    profiles = {each.uuid: each for each in present if each.uuid in record.present or each.uuid in plain}
    profiles |= {kept.uuid: kept for link, kept in originals.items() if plain.get(kept.uuid) not in ("", link)}
    names = {known[uuid].name for uuid in own - profiles.keys() if known[uuid].link in links}
    active = {link: kept.uuid for link, kept in originals.items()}
    return Network(tuple(sorted(links)), tuple(profiles.values()), active, tuple(sorted(names)))


def readdressed(record: BridgeRecord, now: Inventory) -> dict[str, str]:
    """Return the uplinks of *record* for which another program has made a profile since, and its name; no spare one."""
    made = [
        each
        for each in now.profiles
        if not (each.uuid in record.present or each.generated or each.kind.startswith("ovs-") or is_port(each))
        and not now.is_spare(each)
    ]
    return {link: each.name for link in record.originals for each in made if each.link == link}


def foreign_ports(facts: BridgeFacts, bridge: str) -> tuple[str, ...]:
    """Return the ports that neither we nor OVN put on *bridge*: whose links are there, and which are no patch ports."""
    row, uplink = facts.bridge(bridge), facts.uplink_of(bridge)
    own = {bridge, uplink}
    found = (
        port.name
        for port in (row.ports if row else ())
        if not {port.name, *(item.name for item in port.interfaces)} & own
        and not any(item.kind == PATCH for item in port.interfaces)
        and not _gone(facts, port)
    )
    return tuple(sorted(found))


def _findings(
    facts: BridgeFacts, bridge: str, owner: Owner, uplink: str | None, wanted: str | None
) -> Iterator[Finding]:
    row, profiles = facts.bridge(bridge), profiles_of(facts.profiles, bridge)
    ours = owner is not Owner.FOREIGN
    if owner is Owner.NONE:
        return
    if row is not None and not profiles:
        yield _without_profile(bridge, row)
    if profiles and row is None:
        yield Finding(
            Rule.PROFILE_WITHOUT_BRIDGE,
            bridge,
            f"NetworkManager has the profile {profiles[0].name!r} and Open vSwitch has no bridge {bridge}",
            ours,
        )
    if owner is Owner.FOREIGN and profiles:
        names = ", ".join(profile.name for profile in profiles)
        yield Finding(
            Rule.FOREIGN_BRIDGE, bridge, f"{bridge} was made by another program (profiles: {names})", ours=False
        )
    yield from (_without_link(facts, bridge, port, ours=ours) for port in _dead_ports(facts, row))
    for name in foreign_ports(facts, bridge) if ours else ():
        sentence = f"another program added the port {name} to {bridge}; nodenet does not change it"
        yield Finding(Rule.FOREIGN_PORT, bridge, sentence, ours=False, port=name)
    if wanted is not None and takes_over(facts, bridge, wanted):
        sentence = f"{bridge} is over {uplink}, and {wanted} takes its place"
        yield Finding(Rule.TAKES_OVER, bridge, sentence, ours)
    else:
        yield from _of_uplink(bridge, uplink, wanted, ours=ours, whole=row is not None and bool(profiles))
    yield from _left_below(facts, bridge, uplink) if owner is Owner.OURS else ()
    if owner in {Owner.OLD_SCRIPT, Owner.NMSTATE} and not (row and row.external_ids.get(ADOPTED) == uplink):
        who = "the old script" if owner is Owner.OLD_SCRIPT else "a node file"
        sentence = f"{bridge} was made by {who} and is not marked by nodenet yet"
        yield Finding(Rule.NOT_MARKED, bridge, sentence, ours=owner is Owner.OLD_SCRIPT)


def _of_uplink(bridge: str, uplink: str | None, wanted: str | None, *, ours: bool, whole: bool) -> Iterator[Finding]:
    if wanted is None:
        sentence = f"{bridge} exists and no file asks for it any more"
        yield Finding(Rule.NOT_WANTED, bridge, sentence, ours)
    elif whole and uplink is None:
        yield Finding(Rule.WITHOUT_UPLINK, bridge, f"no link of this node is a port of {bridge}", ours)
    elif uplink is not None and uplink != wanted:
        yield Finding(Rule.OTHER_UPLINK, bridge, f"{bridge} is over {uplink} and should be over {wanted}", ours)


def _left_below(facts: BridgeFacts, bridge: str, uplink: str | None) -> Iterator[Finding]:
    """Yield the finding of a node IP on the uplink that no plan would give to the bridge.

    An apply was interrupted: the uplink is a port already and no profile has the addresses any more, or its own profile
    still configures it, beside the bridge's.
    """
    port = any(each.link == uplink and not each.kind.startswith("ovs-") for each in profiles_of(facts.profiles, bridge))
    both = uplink is not None and source_of(facts, bridge, uplink).link == bridge
    below = state.addresses(facts.state, uplink or "") - state.addresses(facts.state, bridge)
    stayed = [ip for ip in facts.node_ips if str(ip) in below]
    if (port or both) and stayed:
        sentence = f"{stayed[0]} is on {uplink}, which is a port of {bridge}: {bridge} has no configuration for it"
        yield Finding(Rule.ADDRESS_BELOW, bridge, sentence, ours=True)


def _without_profile(bridge: str, row: OvsBridge) -> Finding:
    made = MARK in row.external_ids or MADE_BY_NM in row.external_ids
    who = "which NetworkManager made for a profile that is gone" if made else "which another program made"
    sentence = f"Open vSwitch has a bridge {bridge} without a profile, {who}"
    return Finding(Rule.BRIDGE_WITHOUT_PROFILE if made else Rule.FOREIGN_BRIDGE, bridge, sentence, made)


def _dead_ports(facts: BridgeFacts, row: OvsBridge | None) -> Iterator[OvsPort]:
    """Yield the ports whose link this node does not have. Patch ports, such as OVN's, need no link."""
    for port in row.ports if row else ():
        if _gone(facts, port):
            yield port


def _without_link(facts: BridgeFacts, bridge: str, port: OvsPort, *, ours: bool) -> Finding:
    gone = _gone(facts, port)[0]
    error = f" ({gone.error})" if gone.error else ""
    sentence = f"the port {port.name} of {bridge} needs the link {gone.name}, and this node has no such link{error}"
    repairable = ours and port.by_network_manager
    return Finding(Rule.PORT_WITHOUT_LINK, bridge, sentence, repairable, port.name)


def _owner(bridge: str, row: OvsBridge | None, profiles: tuple[Profile, ...]) -> Owner:
    if row is None and not profiles:
        return Owner.NONE
    marked = any(MARK in (profile.setting(EXTERNAL_IDS, "data") or {}) for profile in profiles)
    if marked or (row is not None and MARK in row.external_ids):
        return Owner.OURS
    names = {profile.name for profile in profiles}
    if {bridge, f"ovs-if-{bridge}"} <= names:
        return Owner.OLD_SCRIPT
    if any(f"{bridge}{NMSTATE_SUFFIX.get(profile.kind, ' ')}" == profile.name for profile in profiles):
        return Owner.NMSTATE
    if not profiles and row is not None and MADE_BY_NM in row.external_ids:
        return Owner.LEFT_OVER
    return Owner.FOREIGN


def _gone(facts: BridgeFacts, port: OvsPort) -> list[OvsInterface]:
    outside = (item for item in port.interfaces if item.kind in PHYSICAL)
    return [item for item in outside if state.link(facts.state, item.name) is None]


def _ids(profiles: list[Profile]) -> set[str]:
    """Return what ``connection.controller`` may name a profile by: its UUID or its link (nm-settings-dbus(5))."""
    return {text for profile in profiles for text in (profile.uuid, profile.link) if text}


def _controller(profile: Profile) -> str:
    """Return the controller; before NetworkManager 1.46 the property was called ``master``."""
    found = profile.setting("connection", "controller") or profile.setting("connection", "master")
    return str(found or "")


def is_port(profile: Profile) -> bool:
    """Return whether *profile* makes its link a port of an Open vSwitch bridge."""
    found = profile.setting("connection", "port-type") or profile.setting("connection", "slave-type")
    return str(found) == "ovs-port"


# Is a link configured as NetworkManager will configure it, or is its activation still to come?
# After a cable came back, or NetworkManager was started again, a link may have addresses of an earlier activation and
# not the routes. A plan of such a link would lack them.


def awaited_profile(facts: BridgeFacts, link: str) -> str | None:
    """Return the name of the profile that NetworkManager is to activate on *link*, None where none is awaited.

    A link that another program configures has no profile, or one that does not connect by itself.
    """
    device = facts.device(link)
    if device is None or device.profile is not None:
        return None
    own = (each for each in facts.profiles if each.link == link and not each.kind.startswith("ovs-"))
    waiting = (
        each.name for each in own if not is_port(each) and each.setting("connection", "autoconnect") is not False
    )
    return next(waiting, None)
