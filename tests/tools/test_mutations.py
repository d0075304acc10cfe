"""Would a broken rule be noticed? Each is broken once, and a fixture must come out differently."""

from __future__ import annotations

from typing import Any

import pytest

from mutations import HARMLESS, Mutant, mutants, read_cases
from node_ip_cases import Case


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[Case, Any]]:
    """Give every case with what is expected of it."""
    return read_cases()


def test_unbroken_nothing_is_noticed(cases: dict[str, tuple[Case, Any]]) -> None:
    assert Mutant("nothing").killer(cases) is None


@pytest.mark.parametrize("mutant", list(mutants()), ids=lambda mutant: mutant.name)
def test_what_is_broken_is_noticed(mutant: Mutant, cases: dict[str, tuple[Case, Any]]) -> None:
    killer = mutant.killer(cases)
    assert (killer is None) is (mutant.name in HARMLESS)
