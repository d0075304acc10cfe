"""Which keyfiles give a node the network from before a change, before NetworkManager reads them?

After a power cut NetworkManager would start on what the change had written. As files, the way back needs no bus, no
activation and no order: NetworkManager starts on the right network.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from nodenet.core.change.way_back import Network, is_ours
from nodenet.core.network_manager.profiles import Profile


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
    values: dict[str, str] = {}
    section = ""
    for line in content.decode(errors="replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text
        elif section == "[connection]" and "=" in text and not text.startswith("#"):
            key, _, value = text.partition("=")
            values[key.strip()] = value.strip()
    uuid, name, kind, link = (values.get(key, "") for key in ("uuid", "id", "type", "interface-name"))
    return Profile(uuid, name, kind, link)
