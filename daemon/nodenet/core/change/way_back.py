"""The network from before a change, and the difference that leads back to it.

NetworkManager rolls its checkpoint back by itself when nodenetd is killed. It forgets the checkpoint when it is started
again, and in a power cut; the keyfiles that it wrote stay. So the profiles from before are on the disk until the change
is over. The way back is a difference between them and the present ones: it may run twice, and may be interrupted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Profile, keyfile_values
from nodenet.core.value import frozen

HARDWARE = frozenset({"802-3-ethernet", "802-11-wireless", "bluetooth", "gsm", "infiniband", "loopback"})
"""Values of ``connection.type`` whose links NetworkManager cannot make (nm-settings-nmcli(5))."""


@frozen
class Network:
    """The network before a change.

    *links* are those that the change configures. *profiles* are all profiles with their secrets, *active* is link →
    UUID of its profile. *names* are those that libnmstate gives new profiles of the file that are not named after their
    link. *due* is link → UUID of what an undo has begun to put back.
    """

    links: tuple[str, ...]
    profiles: tuple[KeptProfile, ...] = ()
    active: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    due: dict[str, str] = field(default_factory=dict)


@frozen
class WayBack:
    """What restores the profiles: those to *give_back*, the UUIDs to *delete*, and what to *activate* on which link.

    *disconnect* are links that were not in use before, and are to be free of a profile before it is given back.
    """

    give_back: tuple[KeptProfile, ...]
    delete: tuple[str, ...]
    activate: tuple[tuple[str, str], ...]
    disconnect: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether everything is as before."""
        return not (self.give_back or self.delete or self.activate or self.disconnect)


def with_others(kept: Network, now: Inventory, present: Iterable[KeptProfile]) -> Network:
    """Return *kept* with the profiles that other programs have made since, and with the links that use them.

    libnmstate's checkpoints delete every profile that is newer than they are (DELETE_NEW_CONNECTIONS). So these belong
    to the network that is to come back, from before the rollback on.
    """
    here = {each.uuid: each for each in present}
    before = {each.uuid for each in kept.profiles}
    others = {
        each.uuid: here[each.uuid]
        for each in now.profiles
        if each.uuid in here.keys() - before and not each.generated and not is_ours(each, kept)
    }
    uses = {each.link: each.profile.uuid for each in now.devices if each.profile and each.profile.uuid in others}
    return replace(kept, profiles=(*kept.profiles, *others.values()), active=kept.active | uses)


def way_back(kept: Network, now: Inventory, present: Iterable[KeptProfile], *, rolled_back: bool) -> WayBack:
    """Return how the profiles of *kept* come back, where *present* are those of *now*.

    *rolled_back*: NetworkManager has just done so, and is still activating what the links had before.
    A profile that is new since is deleted only where it is for a link of the change and has a name of libnmstate's: any
    other one is another program's. It stays, and its link keeps it unless it is a spare one.
    Where the file identifies a link by its MAC address, the new profile names no link, and has a name of the file. A
    profile in memory that is gone has died with NetworkManager; it comes back where its link has no other one. Mostly
    NetworkManager makes such a profile again, but not for a link that had a profile when NetworkManager began. A link
    that is gone is made again where its profile can do that: the file may have deleted it. A NIC that is gone may have
    another name now, and the profile that NetworkManager has made for it has the same UUID. What a way back that was
    interrupted had begun to put back is activated in every case: a profile that has its settings again need not be in
    force, since a new text of a profile does not change a link that uses it. A link that had no active profile and uses
    one that is given back gets it again, or none where NetworkManager does not activate that by itself.
    """
    here = {each.uuid: each for each in present}
    since = _since(kept, now)
    new = [each.uuid for each in since if is_ours(each, kept)]
    theirs = {each.link for each in since if each.uuid not in new and not now.is_spare(each)}
    served = {each.link for each in now.profiles if each.uuid not in new}
    links = {device.link for device in now.devices}
    makes = {each.uuid for each in kept.profiles if _makes_its_link(each)}
    bare = {uuid for link, uuid in kept.active.items() if link not in served and (link in links or uuid in makes)}
    lost = [each for each in kept.profiles if _is_lost(each, here.get(each.uuid), bare)]
    changed = {each.uuid for each in lost}
    uses = {device.link: device.profile.uuid for device in now.devices if device.profile}
    known = changed | here.keys()
    again, idle = _in_use_since(kept, uses, lost, theirs)
    due = [
        (uuid, link)
        for link, uuid in (again | kept.due | kept.active).items()
        if uuid in known
        and link not in theirs
        and (link in links or uuid in makes)
        and (uuid in changed or link in kept.due or (uses.get(link) != uuid and not rolled_back))
    ]
    return WayBack(tuple(lost), tuple(new), tuple(due), idle)


def _is_lost(kept: KeptProfile, present: KeptProfile | None, bare: Collection[str]) -> bool:
    """Return whether a profile is to come back; *bare*: those whose link has no profile any more."""
    if present is None:
        return not kept.in_memory or kept.uuid in bare
    return _comparable(present.settings) != _comparable(kept.settings)


def _in_use_since(
    kept: Network, uses: Mapping[str, str], lost: Iterable[KeptProfile], spared: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return which links that had no active profile use one of *lost*, by link, and which of them are to be idle again.

    A cable that was out can be in now. A profile that was active on a link with another name stays in use, unless it
    names that link.
    """
    back = {each.uuid: each for each in lost}
    free = {link: back[uuid] for link, uuid in uses.items() if uuid in back and link not in {*kept.active, *spared}}
    fit = {link: each for link, each in free.items() if _is_for(each, link)}
    again = {link: one.uuid for link, one in fit.items() if _autoconnects(one) or one.uuid in kept.active.values()}
    return again, tuple(link for link in fit if link not in again)


def _since(kept: Network, now: Inventory) -> list[Profile]:
    """Return the profiles for links of the change that are new since, but those that NetworkManager made by itself."""
    before = {each.uuid for each in kept.profiles}
    new = [each for each in now.profiles if each.uuid not in before and not each.generated]
    return [each for each in new if (each.link in kept.links if each.link else each.name in kept.names)]


def is_ours(profile: Profile, kept: Network) -> bool:
    """Return whether libnmstate made *profile* for the change: by its name, and by the link that it names, if any."""
    if not profile.link:
        return profile.name in kept.names
    of_link = profile.name.removeprefix(profile.link) in ("", "-br", "-if", "-port")
    return profile.link in kept.links and (of_link or profile.name in kept.names)


def _makes_its_link(kept: KeptProfile) -> bool:
    """Return whether NetworkManager makes the link of the profile when it activates it, as that of a VLAN."""
    match _connection(kept.settings).get("type"):
        case ["variant", "s", ["plain", str(kind)]]:
            return kind not in HARDWARE
    return False


def _is_for(kept: KeptProfile, link: str) -> bool:
    """Return whether the profile can be activated on *link*."""
    return _connection(kept.settings).get("interface-name") in (None, ["variant", "s", ["plain", link]])


def _autoconnects(kept: KeptProfile) -> bool:
    """Return whether NetworkManager activates the profile without an order."""
    return _connection(kept.settings).get("autoconnect") != ["variant", "b", ["plain", False]]


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return *settings* without the time of the last activation, which every activation changes."""
    values = _connection(settings)
    return {**settings, "connection": {key: value for key, value in values.items() if key != "timestamp"}}


def _connection(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    packed = settings.get("connection")
    values = packed[1] if isinstance(packed, list) else packed
    return values if isinstance(values, dict) else {}


def keyfiles_back(
    before: Network, present: Mapping[PurePosixPath, bytes]
) -> tuple[dict[PurePosixPath, bytes], tuple[PurePosixPath, ...]]:
    """Return what is to be written, and which of the *present* keyfiles are to be removed.

    Removed are those that libnmstate made for the change, and those of a profile that was in memory, or in another
    file, before it. A file that names no profile stays.
    """
    places = {each.uuid: PurePosixPath(each.file) if each.file else None for each in before.profiles}
    kept = {
        place: each.keyfile.encode()
        for each in before.profiles
        if (place := places[each.uuid]) and each.keyfile is not None
    }
    removed = []
    for path in present.keys() - kept.keys():
        profile = _profile(present[path])
        place = places.get(profile.uuid)
        of_before = profile.uuid in places and (place is None or place in kept)  # in memory, or in another file
        if of_before or (profile.uuid and profile.uuid not in places and is_ours(profile, before)):
            removed.append(path)
    written = {path: content for path, content in kept.items() if present.get(path) != content}
    return written, tuple(sorted(removed))


def _profile(content: bytes) -> Profile:
    """Return what a keyfile says in its section ``connection`` (nm-settings-keyfile(5)); empty where it has none."""
    values = {key: value for section, key, value in keyfile_values(content) if section == "connection"}
    uuid, name, kind, link = (values.get(key, "") for key in ("uuid", "id", "type", "interface-name"))
    return Profile(uuid, name, kind, link)
