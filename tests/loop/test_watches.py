"""Everybody that shows the status sees each one; a failure of one ends nothing and is repeated later (R16)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nodenet.core.boot.stages import new_boot
from nodenet.core.status.document import BootStatus
from nodenet.loop.watches import Watches

STATUS = BootStatus(new_boot({}, degrade=True))


@dataclass
class Seen:
    """Returns or raises what it is given."""

    result: float | Exception | None = None
    times: list[BootStatus] = field(default_factory=list)

    def show(self, status: BootStatus) -> float | None:
        self.times.append(status)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_each_one_sees_the_status_though_another_raises() -> None:
    first, second = Seen(OSError(28, "No space left on device")), Seen()
    watches = Watches((first, second))
    watches.show(STATUS)
    assert (len(first.times), len(second.times)) == (1, 1)
    assert 0 < watches.again < math.inf


def test_the_pause_grows_while_it_fails_and_ends_when_it_succeeds() -> None:
    one = Seen(OSError(28, "No space left on device"))
    watches = Watches((one,))
    watches.show(STATUS)
    first = watches.again
    watches.show(STATUS)
    assert watches.again > first
    one.result = None
    watches.show(STATUS)
    assert watches.again == math.inf


def test_one_can_ask_to_see_it_again() -> None:
    watches = Watches((Seen(), Seen(7.0)))
    watches.show(STATUS)
    assert watches.again == 7.0
