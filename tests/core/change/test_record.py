"""The record of an open change: stored, read, closed by the result of its apply, and what its undo leaves."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.record import Change, What, interrupted, is_closed, parse, render
from nodenet.core.change.way_back import Network
from nodenet.core.network_manager.objects import KeptProfile

ETH0 = KeptProfile("u-0", "eth0", "/etc/eth0.nmconnection", in_memory=False, settings={"ipv4": {"method": "auto"}})
APPLY = Intent("d" * 64, Phase.APPLYING, "b1", 90.0, in_force="e" * 64, way_out=True)
BEFORE = Network(("dummy0", "eth0"), (ETH0,), {"eth0": "u-0"}, ("lan",), {"eth0": "u-0"})
CHANGE = Change(What.TRIAL, "new.yml", APPLY, BEFORE, "/etc/nmstate/openshift/worker-0.yml")


def changed(*path: str, to: object) -> bytes:
    """Return the record with another value at *path*."""
    document = json.loads(render(CHANGE))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(document).encode()


def test_a_record_survives_being_stored() -> None:
    assert parse(render(CHANGE)) == CHANGE


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"{",
        b'{"version": 1}',
        changed("version", to=2),
        changed("what", to="a miracle"),
        changed("name", to=7),
        changed("apply", to={}),
        changed("before", "active", to={"eth0": 7}),
        changed("before", "due", to={"eth0": 7}),
        changed("before", "profiles", to=[{"uuid": "u"}]),
    ],
    ids=str,
)
def test_a_record_that_is_torn_or_of_another_release_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(content)


@pytest.mark.parametrize(
    ("result", "closed"),
    [
        (None, False),
        (replace(APPLY, phase=Phase.GOOD), True),
        (replace(APPLY, phase=Phase.ROLLED_BACK), True),
        (replace(APPLY, phase=Phase.REFUSED), False),
        (replace(APPLY, phase=Phase.GOOD, started=80.0), False),
        (replace(APPLY, phase=Phase.GOOD, boot_id="b0"), False),
        (replace(APPLY, phase=Phase.GOOD, digest="e" * 64), False),
    ],
    ids=str,
)
def test_a_change_is_over_once_the_result_of_its_apply_says_so(result: Intent | None, *, closed: bool) -> None:
    """One write commits: what is left of the record says nothing then. A refused file may not be undone yet."""
    assert is_closed(CHANGE, result) is closed


def test_a_change_that_was_undone_remembers_that_it_was_interrupted() -> None:
    """What answers then is not what answered before the file."""
    assert interrupted(CHANGE, None) == replace(APPLY, phase=Phase.ROLLED_BACK, interrupted=True, way_out=False)
    without = replace(CHANGE, apply=replace(APPLY, way_out=False))
    assert not interrupted(without, None).interrupted
    refused = replace(APPLY, phase=Phase.REFUSED, cause="no gateway answers")
    assert interrupted(CHANGE, refused) == refused
