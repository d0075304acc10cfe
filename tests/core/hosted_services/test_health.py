"""Verdicts: rise and fall, slow answers, and a VIP that stays when all API servers fail together."""

import pytest

from nodenet.core.hosted_services.health import (
    BALANCER,
    CANDIDATE,
    HOLDER,
    Answer,
    Patience,
    Target,
    Verdict,
    after,
    ingress,
    readyz,
)
from nodenet.core.hosted_services.model import Options


def run(verdict: Verdict, answers: str, patience: Patience) -> Verdict:
    kinds = {"g": Answer.GOOD, "s": Answer.SLOW, "d": Answer.DEAD}
    for letter in answers:
        verdict = after(verdict, kinds[letter], patience)
    return verdict


UP = run(Verdict(), "ggggg", CANDIDATE)


@pytest.mark.parametrize(
    ("answers", "healthy"),
    [("gg", False), ("ggg", True), ("gggd", True), ("gggdd", False), ("gggdgd", True), ("ggdg", False)],
)
def test_the_balancer_needs_three_good_answers_and_falls_with_two_bad_ones(answers: str, healthy: bool) -> None:  # noqa: FBT001
    assert run(Verdict(), answers, BALANCER).healthy is healthy


def test_a_slow_answer_is_not_a_dead_one() -> None:
    assert run(UP, "sssssss", CANDIDATE).healthy
    assert not run(UP, "ssssssss", CANDIDATE).healthy, "one that never answers is not healthy for ever"


def test_when_all_fail_together_each_candidate_falls_before_the_holder() -> None:
    for answers in ("d" * 10, "s" * 30):
        fell = {
            patience.fall: next(n for n in range(30) if not run(UP, answers[:n], patience).healthy)
            for patience in (CANDIDATE, HOLDER)
        }
        assert fell[CANDIDATE.fall] < fell[HOLDER.fall]


def test_when_all_come_back_together_the_holder_rises_first() -> None:
    down = run(UP, "d" * 10, HOLDER)
    assert run(down, "g", HOLDER).healthy
    assert not run(down, "gggg", CANDIDATE).healthy
    assert run(down, "ggggg", CANDIDATE).healthy


def test_the_check_of_the_api_asks_for_a_certificate_of_api_int() -> None:
    options = Options(cluster_domain="c1.example.com", api_port=7443, ca_file="/ca")
    assert readyz(options, "192.0.2.9", mark=3) == Target(
        "192.0.2.9", 7443, "/readyz", "/ca", "api-int.c1.example.com", mark=3
    )


def test_the_ingress_controller_is_asked_where_the_settings_say() -> None:
    """With another controller than OpenShift's router all weights were 0, and a node without one could have the VIP."""
    found = ingress(Options(ingress_health="http://127.0.0.1:10254/healthz"))
    assert (found.host, found.port, found.path) == ("127.0.0.1", 10254, "/healthz")
    assert ingress(Options()).port == 1936
