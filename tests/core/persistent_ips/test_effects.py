from __future__ import annotations

import pytest

from nodenet.core.persistent_ips.effects import ReadPod, ask


def test_a_step_is_a_value_and_its_answer_is_returned() -> None:
    steps = ask(ReadPod("vms", "p"))
    assert next(steps) == ReadPod("vms", "p")
    answer = object()
    with pytest.raises(StopIteration) as caught:
        steps.send(answer)
    assert caught.value.value is answer
