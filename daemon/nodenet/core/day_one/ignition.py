"""How are files written into an Ignition configuration, and read back? (Ignition's specification, v3.2.0)"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.day_one.files import ArtefactInvalid, CarriedFile, checked_path, from_data_url, to_data_url

VERSION = "3.2.0"
_READ = "3."
"""Every version 3 has ``storage.files`` in this shape."""


def document(files: Iterable[CarriedFile]) -> dict[str, Any]:
    """Return the configuration with *files*, sorted by path; modes are decimal numbers there."""
    entries = [
        {
            "path": str(file.path),
            "mode": file.mode,
            "overwrite": True,
            "contents": {"source": to_data_url(file.content)},
        }
        for file in sorted(files, key=lambda file: file.path)
    ]
    return {"ignition": {"version": VERSION}, "storage": {"files": entries}}


def render(files: Iterable[CarriedFile]) -> str:
    """Return the configuration as JSON, the same bytes for the same files."""
    return json.dumps(document(files), indent=2) + "\n"


def files_in(found: object, place: str = "$") -> tuple[CarriedFile, ...]:
    """Return the files of a configuration, as JSON or YAML values. Raises ArtefactInvalid naming the place."""
    version = _mapping(_mapping(found, place).get("ignition"), f"{place}.ignition").get("version")
    if not isinstance(version, str) or not version.startswith(_READ):
        raise ArtefactInvalid(f"{place}.ignition.version is {version!a}; versions 3.x are read")
    storage = _mapping(_mapping(found, place).get("storage") or {}, f"{place}.storage")
    entries = storage.get("files") or []
    if not isinstance(entries, list):
        raise ArtefactInvalid(f"{place}.storage.files is not a list")
    files = tuple(_file(entry, f"{place}.storage.files[{i}]") for i, entry in enumerate(entries))
    seen: set[PurePosixPath] = set()
    for file in files:
        if file.path in seen:
            raise ArtefactInvalid(f"{place}.storage.files has {file.path} twice")
        seen.add(file.path)
    return files


def _file(entry: object, place: str) -> CarriedFile:
    found = _mapping(entry, place)
    contents = _mapping(found.get("contents") or {}, f"{place}.contents")
    if contents.get("compression"):
        raise ArtefactInvalid(f"{place}.contents.compression is {contents['compression']!a}; write it uncompressed")
    mode = found.get("mode", 0o644)
    if not isinstance(mode, int) or isinstance(mode, bool) or not 0 <= mode <= 0o7777:
        raise ArtefactInvalid(f"{place}.mode is {mode!a}; expected a number such as 420 (octal 0644)")
    path = checked_path(found.get("path"), f"{place}.path")
    return CarriedFile(path, from_data_url(contents.get("source", "data:,"), f"{place}.contents.source"), mode)


def _mapping(found: object, place: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ArtefactInvalid(f"{place} is not a mapping")
    return found
