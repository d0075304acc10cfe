"""What is read, and what is said of a record that is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nodenet.core.adoption import former_chain as adoption_record
from nodenet.core.apply import intent, new_file
from nodenet.core.br_ex import record
from nodenet.core.change import record as change_record
from nodenet.core.hosted_services import cluster
from nodenet.core.node_ip import last_published
from nodenet.core.persistent_ips import book as ipam_records
from nodenet.core.record_version import refusal

LATER = "it has version 2, of a later release of nodenet; this release reads version 1"


def cached(document: bytes) -> object:
    """Read a cache with a good checksum."""
    return cluster.parse_cached(hashlib.sha256(document).hexdigest().encode() + b"\n" + document, "example.com")


READERS: dict[str, Callable[[bytes], object]] = {
    "intent": intent.parse,
    "bridge": record.parse,
    "selection": lambda content: last_published.parse(content, "boot"),
    "cache": cached,
    "trial": new_file.parse,
    "change": change_record.parse,
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


STATE = Path(__file__).parents[2] / "fixtures/state"
"""Each record as the first code that wrote it wrote it: fields that it did not have are not there."""
FIRST: dict[str, Callable[[bytes], object]] = {
    "adoption": adoption_record.parse,
    "bridge": record.parse,
    "cache": lambda content: cluster.parse_cached(content, "example.com"),
    "intent": intent.parse,
    "ipam": lambda content: [ipam_records.record_of(tuple(row)) for row in json.loads(content)],
    "selection": lambda content: last_published.parse(content, "b1"),
    "trial": new_file.parse,
    "change": change_record.parse,
}


def test_every_first_format_is_read() -> None:
    """After an upgrade from any earlier version, each record in the state directory is read, and none is set aside."""
    assert {path.stem for path in STATE.iterdir()} == set(FIRST)
    found = {name: reader((STATE / f"{name}.json").read_bytes()) for name, reader in FIRST.items()}
    shown = {name: str(value) for name, value in found.items()}
    kept = {
        "adoption": "verb='adopt'",
        "bridge": "uplinks={'br-ex': 'eth0'}",
        "cache": "document={'a': 1}",
        "intent": "digest='5f0c2a9d41b7'",
        "ipam": "IPv4Interface('192.0.2.9/24')",
        "selection": "addresses=(IPv4Address('192.0.2.9'),)",
        "trial": "boots=('b1',)",
        "change": "links=('eth0',)",
    }
    assert {name: text for name, text in kept.items() if text not in shown[name]} == {}
    assert "None" not in {str(each) for each in found["ipam"]}  # type: ignore[attr-defined]
