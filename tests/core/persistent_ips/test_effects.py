from __future__ import annotations

import pytest

from nodenet.core.persistent_ips import effects
from nodenet.core.persistent_ips.effects import AwaitClaim, ListLeases, ReadClaim, ReadLease, ReadPod


def test_a_step_is_a_value_and_its_answer_is_returned() -> None:
    for steps, effect in (
        (effects.read_pod("vms", "p"), ReadPod("vms", "p")),
        (effects.read_claim("vms", "c"), ReadClaim("vms", "c")),
        (effects.await_claim("vms", "c"), AwaitClaim("vms", "c")),
        (effects.read_lease("l"), ReadLease("l")),
        (effects.list_leases("a=b"), ListLeases("a=b")),
    ):
        assert next(steps) == effect
        answer = object()
        with pytest.raises(StopIteration) as caught:
            steps.send(answer)
        assert caught.value.value is answer
