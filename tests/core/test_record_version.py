"""What is read, and what is said of a record that is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from nodenet.core.apply import intent, last_good, new_file
from nodenet.core.br_ex import record
from nodenet.core.hosted_services import cache
from nodenet.core.node_ip import last_published
from nodenet.core.record_version import refusal
from nodenet.core.trial import record as trial_record

LATER = "it has version 2, of a later release of nodenet; this release reads version 1"


def cached(document: bytes) -> object:
    """Read a cache with a good checksum."""
    return cache.parse(hashlib.sha256(document).hexdigest().encode() + b"\n" + document, "example.com")


READERS: dict[str, Callable[[bytes], object]] = {
    "intent": intent.parse,
    "bridge": record.parse,
    "selection": lambda content: last_published.parse(content, "boot"),
    "cache": cached,
    "good": lambda content: last_good.parse(content, None),
    "trial": new_file.parse,
    "try": trial_record.parse,
}
JSON = READERS.keys() - {"cache"}


def test_the_version_of_this_release_is_read() -> None:
    assert refusal(1, 1) is None


@pytest.mark.parametrize("found", [None, 0, "1", True, 1.0])
def test_another_version_is_refused(found: object) -> None:
    assert refusal(found, 1) == "it does not have version 1"


@pytest.mark.parametrize("reader", sorted(JSON))
@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "it is empty"), (b"\0" * 512, "it is empty"), (b"[" * 100_000, "it is nested too deeply")],
)
def test_what_a_lost_write_leaves_is_named(reader: str, content: bytes, said: str) -> None:
    """Zero bytes are no text of another encoding."""
    with pytest.raises(ValueError, match=said):
        READERS[reader](content)


@pytest.mark.parametrize("reader", READERS)
def test_a_record_of_a_later_release_is_refused_and_named(reader: str) -> None:
    """As it is found after a downgrade."""
    with pytest.raises(ValueError, match="version") as refused:
        READERS[reader](json.dumps({"version": 2, "schema_version": 2}).encode())
    assert str(refused.value) == LATER
