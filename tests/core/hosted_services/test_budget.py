"""How often something may be done."""

from nodenet.core.hosted_services.units import Budget


def test_a_burst_is_done_at_once_and_what_follows_with_pauses() -> None:
    budget, now, times = Budget(3, 10.0), 1000.0, []
    for _ in range(6):
        now += budget.wait(now)
        budget = budget.used(now)
        times.append(now - 1000)
    assert times == [0, 0, 0, 10, 20, 30]


def test_quiet_times_give_it_back_and_no_more() -> None:
    budget = Budget(2, 10.0).used(0).used(0)
    assert budget.wait(0) == 10
    assert round(budget.wait(4), 6) == 6
    assert budget.wait(15) == 0
    later = budget.used(1e9).used(1e9)
    assert later.wait(1e9) == 10
