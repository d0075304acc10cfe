"""What is logged about a boot? One line for each outcome, one cause line for each failure."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Skipped, Waiting
from nodenet.core.boot.stage_state import Inhibitor, StageState
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import Refusal
from nodenet.loop import journal
from nodenet.loop.journal import Guard

NODE_IP = ip_address("192.0.2.5")
PROBLEM = Problem(Message.APPLY_FAILED, "mtu is 1500", "Compare it")
STAGE = StageState(StageName.NMSTATE, started=1.0)
BACKUP = Inhibitor(StageName.NMSTATE, "backup", "copies", 1)


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (Done("Applied it", Facts(), Message.NETWORK_APPLIED), ["Applied it"]),
        (Done("Applied it", Facts(), Message.NETWORK_APPLIED, PROBLEM), ["Applied it", "mtu is 1500"]),
        (Skipped("no node file", Facts()), ["nmstate is skipped: no node file"]),
        (Waiting("NetworkManager"), ["nmstate waits: NetworkManager"]),
        (Failed(PROBLEM, Facts()), ["mtu is 1500"]),
    ],
)
def test_an_outcome_is_one_line_and_a_problem_another(outcome: Outcome, lines: list[str]) -> None:
    with capture_logs() as logs:
        journal.outcome(STAGE, outcome)
    assert [entry["event"] for entry in logs] == lines
    assert logs[0]["stage_started"] == "1.000000"


def test_a_problem_that_is_known_has_its_line_already() -> None:
    with capture_logs() as logs:
        journal.outcome(STAGE, Done("Applied it", Facts(), Message.NETWORK_APPLIED, PROBLEM), [None, PROBLEM])
    assert [entry["event"] for entry in logs] == ["Applied it"]


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (lambda: journal.inhibited(BACKUP), "nmstate is inhibited by backup: copies"),
        (lambda: journal.released(BACKUP), "nmstate is no longer inhibited by backup"),
        (
            lambda: journal.ready(6.93, (NODE_IP,), None),
            "Ready after 6.9 s: kubelet and CRI-O may start with node IP 192.0.2.5",
        ),
        (
            lambda: journal.ready(6.93, (), StageName.NMSTATE),
            "Ready after 6.9 s, degraded (nmstate failed): kubelet and CRI-O may start; see `nodenetctl status`",
        ),
        (lambda: journal.reloaded(None, None), "Reloaded"),
        (
            lambda: journal.reloaded(None, StageName.CONFIGURE_OVS),
            "Reloaded; configure-ovs is failed as before the reload",
        ),
        (
            lambda: journal.reloaded(StageName.NMSTATE, None),
            "Reloaded in part: the settings are in force, but nmstate failed, as logged before",
        ),
        (lambda: journal.is_back(Message.NODE_IP_DRIFT), "The published node IPs are on the node again"),
        (lambda: journal.uplink(None), "The uplink has a carrier, and gateways and DNS servers answer again"),
    ],
)
def test_a_line_is_a_whole_sentence(log: Callable[[], None], line: str) -> None:
    with capture_logs() as logs:
        log()
    assert [entry["event"] for entry in logs] == [line]


def test_a_refusal_has_its_cause_line_first() -> None:
    with capture_logs() as logs:
        journal.refused(Refusal(PROBLEM, StageName.NMSTATE))
    assert [entry["event"] for entry in logs] == ["mtu is 1500", "Reload refused: everything stays as it is"]


def test_a_second_look_that_finds_the_same_is_no_news() -> None:
    boot = new_boot({}, degrade=True).begun(StageName.NMSTATE, 1.0)
    done = boot.after(StageName.NMSTATE, Done("Applied it", Facts(), Message.NETWORK_APPLIED), 2.0)[StageName.NMSTATE]
    assert journal.is_news(boot[StageName.NMSTATE], done)
    assert not journal.is_news(done, done)


def test_the_same_reason_to_wait_is_no_news() -> None:
    """Though the stage ran in between; another reason is."""
    name = StageName.NMSTATE
    waiting = new_boot({}, degrade=True).begun(name, 1.0).after(name, Waiting("a"), 2.0)
    running = waiting.begun(name, 3.0)
    same, other = (running.after(name, Waiting(reason), 4.0)[name] for reason in ("a", "b"))
    assert not journal.is_news(running[name], same)
    assert journal.is_news(running[name], other)


def refuse(text: str) -> int:
    raise Unavailable(text)


def test_an_error_gives_the_other_result_and_one_line_until_it_changes() -> None:
    guard = Guard("the look")
    with capture_logs() as logs:
        assert [guard.run(lambda: refuse("a"), 7) for _ in range(3)] == [7, 7, 7]
        assert guard.failures == 3
        guard.run(lambda: refuse("b"), 7)
        assert guard.run(int, 7, "1") == 1
        assert guard.failures == 0
        guard.run(lambda: refuse("b"), 7)
    assert [entry["cause"] for entry in logs] == ["a", "b", "b"]


def test_an_error_without_a_name_is_caught_too() -> None:
    with capture_logs() as logs:
        assert Guard("the look").run(lambda: 1 // 0, 7) == 7
    assert logs[0]["cause"].startswith("the look had an unexpected error: ZeroDivisionError")
