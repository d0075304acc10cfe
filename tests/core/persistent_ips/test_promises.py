"""What is promised whatever happens: no address twice, none that a claim has is freed, and none is left at the end."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from persistent_ips_world import Play, World, network

SEQUENCES = int(os.environ.get("NODENET_IPAM_SEQUENCES", "400"))
"""`NODENET_IPAM_SEQUENCES=100000` takes a quarter of an hour."""
NETWORKS = (
    network(),
    network(subnets="192.0.2.0/29,2001:db8::/125"),
    network(subnets="192.0.2.0/28", excludeSubnets="192.0.2.8/29"),
    network(subnets="192.0.2.0/28", allowPersistentIPs=False),
)


def play(pick: random.Random | None, numbers: list[int], steps: int) -> None:
    tape = iter(numbers)
    choose = pick.randrange if pick else lambda most: next(tape, 0) % most
    made = Play(choose, World(nodes=1 + choose(3), made=NETWORKS[choose(len(NETWORKS))]))
    try:
        for _ in range(steps):
            made.step()
        made.world.end()
    except BaseException as error:
        error.add_note("\n".join(made.log))
        raise


@pytest.mark.parametrize("part", range(4))
def test_no_address_is_given_twice_or_lost_or_left_behind(part: int) -> None:
    for seed in range(part, SEQUENCES, 4):
        try:
            play(random.Random(seed), [], 20 + seed % 100)  # noqa: S311  (a seed makes a sequence again)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 10_000), min_size=40, max_size=400))
def test_the_shortest_sequence_that_breaks_a_promise_is_found(numbers: list[int]) -> None:
    play(None, numbers, len(numbers) // 4)
