"""The table of NMState's keys; tests/libnmstate holds it to the crate."""

from __future__ import annotations

import pytest

from nodenet.core.node_file import schema


@pytest.mark.parametrize("section", sorted(schema._TABLE))
def test_every_section_that_a_key_leads_to_is_in_the_table(section: str) -> None:
    for entry in schema._TABLE[section].split():
        _, _, kind = entry.partition(":")
        kind = kind.strip("[]")
        if kind.startswith("@"):
            assert kind[1:] in schema._TABLE, entry


@pytest.mark.parametrize("section", sorted(schema._TABLE))
def test_every_kind_is_a_known_one(section: str) -> None:
    for entry in schema._TABLE[section].split():
        key, _, kind = entry.partition(":")
        assert key, entry
        kind = kind.strip("[]")
        assert kind in {"text", "flag", "bool", "int", "any"} or kind[:1] in "=@", entry
