"""`nodenetctl hosted migrate --dry-run`: each line, by servers of the test's own, and the wrong command lines."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from core.hosted_cluster.test_cluster_status import API, LB, OPTIONS
from nodenet.cli.hosted_migrate import FAILED, PASSED, verify
from nodenet.cli.main import main
from nodenet.core.hosted_services.health import Answer, Result, Target
from nodenet.core.hosted_services.model import ClusterNode, Role

NODES = (ClusterNode("m0", (ip_address("192.0.2.10"),), Role.CONTROL_PLANE),)


class Servers:
    """The API at each address: what it answers, in turn; the last answer stays."""

    def __init__(self, *answers: Result) -> None:
        self._answers = list(answers)

    async def check(self, target: Target, seconds: float) -> Result:  # noqa: ARG002
        assert (target.path, target.server_name) == ("/readyz", "api-int.c1.example.com")
        assert target.ca_file
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


GOOD, BAD = Result(Answer.GOOD), Result(Answer.DEAD, problem="status 500")


def verified(address: str, *answers: Result, **given: Any) -> tuple[bool, list[str]]:
    options, document = given.get("options", OPTIONS), given.get("document", {})
    found = verify((ip_address(address),), options, NODES, document, Servers(*answers or (GOOD,)).check)
    return asyncio.run(found)


def test_a_load_balancer_that_answers_passes() -> None:
    passed, lines = verified(str(LB))
    assert passed
    assert lines[0] == f"checks    {LB}, an external load balancer, for api-int.c1.example.com"
    assert lines[1].startswith(
        f"{LB}  5 of 5 answers of /readyz are good, with a certificate for api-int.c1.example.com; the slowest took "
    )
    assert lines[2:] == [PASSED]


def test_one_that_does_not_answer_fails_with_its_problem() -> None:
    assert verified(str(LB), BAD)[1][1:] == [f"{LB}  status 500", FAILED]
    passed, lines = verified(str(LB), GOOD, BAD, GOOD)
    assert (passed, lines[1]) == (False, f"{LB}  only the last 3 of 5 answers of /readyz were good")


def test_the_vip_must_have_one_holder() -> None:
    one, two = ({"vips": [{"address": str(API), "holders": held}]} for held in (["m0"], ["m0", "m1"]))
    passed, lines = verified(str(API), document=one)
    assert (passed, lines[0]) == (True, f"checks    {API}, the API VIP, for api-int.c1.example.com")
    passed, lines = verified(str(API), document=two)
    assert (passed, lines[1]) == (False, f"{API}  2 holders on the wire: see `nodenetctl explain vip`")


def test_what_cannot_be_a_load_balancer_is_not_asked() -> None:
    assert verified("192.0.2.10", BAD) == (
        False,
        ["apiintIpAddress 192.0.2.10 is the address of node m0: name the load balancer's address"],
    )
    cloud = replace(OPTIONS, platform="aws")
    assert verified(str(LB), options=cloud)[1] == [
        'No hosted service runs in this cluster: the platform "aws" has its own DNS and load balancers'
    ]


NO_ADDRESS = (
    "HostedNetServices names no address to check, or nodenet-operator has not written status.migration yet. Name an "
    "address with --to"
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["migrate"], "`nodenetctl hosted migrate` checks only, with --dry-run. A migration begins when"),
        (["migrate", "--dry-run", "--file", "/nonexistent"], NO_ADDRESS),
        (["migrate", "--dry-run", "--to", "lb.example.com"], "Give IP addresses to --to"),
        (["--dry-run"], "--dry-run and --to are for `nodenetctl hosted migrate`. Leave them out"),
        (["drain", "--to", "192.0.2.9"], "--dry-run and --to are for `nodenetctl hosted migrate`"),
    ],
)
def test_a_wrong_command_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hosted", *words]) == 64
    assert said in capsys.readouterr().err
