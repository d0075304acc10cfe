"""What is printed after a reload that the daemon accepted, and which exit code it has."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.messages import Message
from nodenet.core.status.text import Aftermath, aftermath


def problem(message: Message, stage: str | None, cause: str = "a cause") -> dict[str, Any]:
    return {"message_id": message.value, "stage": stage, "cause": cause, "remedy": "a remedy"}


def status(*problems: dict[str, Any], file: str | None = "a.yml", applied: str | None = "b" * 64) -> dict[str, Any]:
    first = problems[0] if problems else None
    return {"node_file": file, "applied_digest": applied, "problems": list(problems), "last_error": first}


BRIDGE = problem(Message.BRIDGE_FAILED, "configure-ovs")
DRIFT = problem(Message.NODE_IP_DRIFT, "nodeip")
FILE = problem(Message.APPLY_FAILED, "nmstate")
STANDING = "The reload is complete. The node still has the problems that it had before:"
TROUBLE = "The reload is complete, but the node has problems:"


def lines(head: str, *found: dict[str, Any]) -> tuple[str, ...]:
    shown = [head]
    for each in found:
        shown += [f"  problem     {each['stage']}: {each['cause']}", "  to do       a remedy"]
        shown += [f"  more        journalctl -xb MESSAGE_ID={each['message_id']}"]
    return tuple(shown)


def test_a_problem_of_another_stage_that_was_there_before_is_printed_and_no_failure() -> None:
    """The input of this reload is good (R55); the cause may have another number of tries by now."""
    later = problem(Message.BRIDGE_FAILED, "configure-ovs", "a cause, try 7")
    assert aftermath(status(BRIDGE), status(later)) == Aftermath(lines(STANDING, later), 0)


def test_a_cable_that_was_pulled_before_is_no_failure_of_the_reload() -> None:
    """A problem of no stage (R55)."""
    cable = problem(Message.UPLINK_LOST, None)
    shown = aftermath(status(cable), status(cable))
    assert (shown.exit_code, shown.lines[:2]) == (0, (STANDING, "  problem     a cause"))
    assert aftermath(status(), status(cable)).exit_code == 2


def test_a_problem_that_the_reload_brought_is_exit_code_2() -> None:
    """Such as a static address that the node file has no longer (R58)."""
    assert aftermath(status(), status(DRIFT)) == Aftermath(lines(TROUBLE, DRIFT), 2)
    assert aftermath(status(BRIDGE), status(DRIFT, BRIDGE)) == Aftermath(lines(TROUBLE, DRIFT, BRIDGE), 2)


@pytest.mark.parametrize("stage", ["nmstate", "hostname"])
def test_a_problem_of_what_a_reload_reads_is_exit_code_2(stage: str) -> None:
    """The file has not changed, and is still not applied (R58)."""
    before = problem(Message.APPLY_FAILED, stage)
    assert aftermath(status(before), status(before)) == Aftermath(lines(TROUBLE, before), 2)


def test_a_node_file_that_is_gone_is_exit_code_2_once() -> None:
    """Its configuration is still active, and the next reload says so too (R58)."""
    said = (
        f"There is no node file any more. The configuration of {'b' * 12} is still active: "
        "remove what it set with `nmcli`, or restore the file"
    )
    gone = status(file=None)
    assert aftermath(status(), gone) == Aftermath((said,), 2)
    assert aftermath(gone, gone) == Aftermath((said,), 0)


def test_a_good_reload_prints_nothing() -> None:
    """Neither do a first node file, one that never was, or a daemon without a state file."""
    assert aftermath(status(BRIDGE), status()) == Aftermath()
    assert aftermath(status(file=None, applied=None), status(file=None, applied=None)) == Aftermath()
    assert aftermath(None, status()) == Aftermath()
    assert aftermath(status(), None) == Aftermath()


def test_a_document_of_an_older_daemon_has_one_problem() -> None:
    older = {key: value for key, value in status(FILE).items() if key != "problems"}
    assert aftermath(older, older) == Aftermath(lines(TROUBLE, FILE), 2)
