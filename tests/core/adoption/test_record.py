"""The record of a run that never ended."""

from __future__ import annotations

import json

import pytest

from nodenet.core.adoption.former_chain import AdoptionRecord, parse, render
from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message

REST = "`nodenetctl adopt` completes the way to nodenet, `nodenetctl hand-back` the way to the former chain"
RECORD = AdoptionRecord("adopt", "b" * 32, ("drop-ins+", "marker+"), 1)


def test_it_is_read_as_it_was_written() -> None:
    assert parse(render(RECORD)) == RECORD


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"{}",
        render(RECORD).replace(b'"version": 1', b'"version": 2'),
        json.dumps({"version": 1, "verb": "adopt"}).encode(),
        render(RECORD).replace(b'"done": 1', b'"done": "1"'),
        render(RECORD).replace(b'"undoing": false', b'"undoing": 0'),
        render(RECORD).replace(b'"adopt"', b"7"),
        render(RECORD).replace(b'"done"', b'"todo"'),
    ],
)
def test_what_is_no_record_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (each has its own words)
        parse(content)


def test_an_interrupted_run_says_on_which_side_the_node_is() -> None:
    assert RECORD.interrupted(marker=True, same_boot=False) == Problem(
        Message.ADOPTION_INTERRUPTED,
        "A `nodenetctl adopt` was interrupted before the last boot (step 2 of 2): /etc/nodenet/adopted exists, so "
        "nodenet configures this node at every boot",
        REST,
    )
    assert RECORD.interrupted(marker=False, same_boot=True) == Problem(
        Message.ADOPTION_INTERRUPTED,
        "A `nodenetctl adopt` was interrupted in this boot (step 2 of 2): /etc/nodenet/adopted does not exist, so the "
        "former chain configures this node at every boot",
        REST,
    )
