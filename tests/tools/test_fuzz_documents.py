"""Documents as a door: a bounded run of tools/fuzz_documents.py, and proof that it sees what it looks for."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzz_documents
from fuzz_documents import DOORS, Complaint, no_secret, tried

INPUTS = 150
"""For each door; a million were tried once, see CONTRIBUTING.md."""


@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=INPUTS, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_a_document_is_a_value_or_one_error_with_its_place(door: str, rng: Random) -> None:
    """From its grammar and by bytes; never another exception, and never a secret."""
    DOORS[door](rng)


@pytest.mark.parametrize("door", DOORS)
def test_no_document_takes_long(door: str) -> None:
    """Seeds that once found something come first."""
    assert [wrong for seed in (1001608, 1037054, *range(100)) if (wrong := tried(DOORS[door], seed))] == []


def test_the_fuzzer_sees_what_it_looks_for() -> None:
    def raises(_: Random) -> object:
        raise AttributeError("no such thing")

    def sleeps(_: Random) -> object:
        until = time.process_time() + fuzz_documents.SLOWEST + 0.01
        while time.process_time() < until:
            pass
        return "a slow one"

    assert tried(raises, 1) == "AttributeError: no such thing"
    assert (tried(sleeps, 1) or "").endswith("s for 'a slow one'")
    with pytest.raises(Complaint, match="the secret"):
        no_secret(iter(("found 4912345678 here",)), ["+4912345678"])
