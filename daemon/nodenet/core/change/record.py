"""The record of the one change of the network that is open: written before the network is touched."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.apply.intent import Intent, Phase, from_fields, is_end_of
from nodenet.core.change.way_back import Network
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1
STATE = PurePosixPath("/var/lib/nodenet")
PATH = STATE / "change.json"


class What(StrEnum):
    """What changes the network, in words."""

    NODE_FILE = "apply"
    TRIAL = "trial"
    BRIDGE = "change"
    GIVING_UP = "making"
    """Undone at once: the network before it is the one from before br-ex."""
    GOING_BACK = "network"
    """Undone at once: the network before it is the one of an earlier node file."""


RESULT = {
    What.NODE_FILE: STATE / "intent.json",
    What.TRIAL: STATE / "intent.json",
    What.GOING_BACK: STATE / "intent.json",
    What.BRIDGE: STATE / "bridge-intent.json",
    What.GIVING_UP: STATE / "bridge-intent.json",
}
"""Where the result of the last change of each kind is."""
UNDONE_AT_ONCE = frozenset({What.GIVING_UP, What.GOING_BACK})
"""Changes that are the undo of earlier ones: nothing was interrupted."""


@frozen
class Change:
    """A change: *what* it is, of the file or bridge called *name*, the *apply*, and the network *before* it.

    *installs*: where a trial puts its file once it is confirmed; "" for every other change.
    """

    what: What
    name: str
    apply: Intent
    before: Network
    installs: str = ""


def is_closed(change: Change, result: Intent | None) -> bool:
    """Return whether *result*, of the last apply of this kind, says that *change* is over, and how."""
    if result is None or result.phase not in (Phase.GOOD, Phase.ROLLED_BACK):
        return False
    return is_end_of(result, change.apply)


def is_confirmed(change: Change, installed: bytes | None) -> bool:
    """Return whether the file of a trial is *installed*: an administrator has confirmed it, and a boot applies it."""
    return installed is not None and hashlib.sha256(installed).hexdigest() == change.apply.digest


def interrupted(change: Change, result: Intent | None) -> Intent:
    """Return the result of *change* once it is undone, *result* being the last one before.

    Nothing that answered since is what answered before the change, where the node had a way out then. A file that was
    refused stays so.
    """
    if result is not None and is_end_of(result, change.apply):
        return result
    had_way_out = change.apply.interrupted or change.apply.way_out
    return replace(change.apply, phase=Phase.ROLLED_BACK, interrupted=had_way_out, way_out=False)


def render(change: Change) -> bytes:
    """Return the record as it is stored; it may have secrets, so its file is for root only.

    On one line: a node may have hundreds of profiles, and what is read is bounded.
    """
    return json.dumps({"version": VERSION, **asdict(change)}).encode() + b"\n"


def parse(content: bytes) -> Change:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    found = fields(content, VERSION)
    try:
        apply, before = from_fields(found["apply"]), network_from(found["before"])
        change = Change(What(found["what"]), found["name"], apply, before, found["installs"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    if not all(isinstance(text, str) for text in (change.name, change.installs)):
        raise ValueError("not a record: a value has another type")
    return change


def network_from(found: dict[str, Any]) -> Network:
    """Return the network with these values. Raises ValueError, KeyError, TypeError where one is missing or wrong."""
    profiles = tuple(KeptProfile(**kept) for kept in found["profiles"])
    active, due = dict(found["active"]), dict(found["due"])
    network = Network(tuple(map(str, found["links"])), profiles, active, tuple(map(str, found["names"])), due)
    texts = [*active, *active.values(), *due, *due.values()]
    texts += [text for each in profiles for text in (each.uuid, each.name, each.path)]
    if not (all(isinstance(text, str) for text in texts) and all(isinstance(one.settings, dict) for one in profiles)):
        raise ValueError("not a record: a value has another type")
    return network
