"""Verdicts: rise and fall, slow answers, and a VIP that stays when all API servers fail together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    valid_until,
)
from nodenet.core.hosted_services.model import Options

VERSION, SERIAL = (0xA0, b"\x02\x01\x02"), (0x02, b"\x07")
UTC_TIME, GENERALIZED_TIME = 0x17, 0x18


def encoded(*parts: tuple[int, bytes]) -> bytes:
    """Return elements of DER; a long length has two octets."""
    lengths = (bytes([len(value)]) if len(value) < 0x80 else b"\x82" + len(value).to_bytes(2) for _, value in parts)
    return b"".join(bytes([tag]) + length + value for (tag, value), length in zip(parts, lengths, strict=True))


def certificate(*validity: tuple[int, bytes], first: tuple[tuple[int, bytes], ...] = (VERSION, SERIAL)) -> bytes:
    """Return a certificate with two times; its issuer has a long name."""
    body = encoded(*first, (0x30, b""), (0x30, b"x" * 300), (0x30, encoded(*validity)), (0x30, b""))
    return encoded((0x30, encoded((0x30, body), (0x30, b""), (0x03, b""))))


BEGIN = (UTC_TIME, b"250101000000Z")


GOOD = certificate(BEGIN, (UTC_TIME, b"261105093000Z"))


@pytest.mark.parametrize("length", range(0, len(GOOD), 11))
def test_one_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"cut off|no certificate"):
        valid_until(GOOD[:length])


@pytest.mark.parametrize("end", [(UTC_TIME, b"26110509300\xb2Z"), (UTC_TIME, b""), (0x02, b"261105093000Z")])
def test_a_time_that_is_none_is_refused(end: tuple[int, bytes]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        valid_until(certificate(BEGIN, end))


@given(st.binary(max_size=80), st.integers(0, len(GOOD) - 1))
def test_whatever_a_server_sends_is_a_date_or_refused(octets: bytes, at: int) -> None:
    for tried in (octets, GOOD[:at] + octets + GOOD[at + len(octets) :]):
        try:
            valid_until(tried)
        except ValueError:
            continue


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
