"""Does this release read what each earlier one left in /var/lib/nodenet?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath

import pytest

from nodenet.core.apply import intent, new_file
from nodenet.core.history import entry
from nodenet.core.node_ip import last_published

RELEASES = Path(__file__).parents[2] / "fixtures" / "releases"
FILES = sorted(file for file in RELEASES.glob("*/var/lib/nodenet/**/*") if file.is_file())
READERS: dict[str, Callable[[bytes], object]] = {
    "intent.json": intent.parse,
    "trial.json": new_file.parse,
    "selection.json": lambda content: last_published.parse(content, "another boot"),
    "history/1.json": lambda content: entry.parse(content, 1),
    "history/2.json": lambda content: entry.parse(content, 2),
}


def of_node(file: Path) -> str:
    """Return the name of a file below /var/lib/nodenet."""
    return str(PurePath(*file.relative_to(RELEASES).parts[4:]))


@pytest.mark.parametrize("file", FILES, ids=lambda file: "-".join(file.relative_to(RELEASES).parts))
def test_a_record_of_an_earlier_release_is_read(file: Path) -> None:
    assert READERS[of_node(file)](file.read_bytes())


def test_the_first_release_has_left_each_record() -> None:
    assert {of_node(file) for file in FILES if file.is_relative_to(RELEASES / "0.1.0")} == set(READERS)
