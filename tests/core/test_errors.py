"""From a message to an exit code: one table, total."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nodenet.core import errors
from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import ERRORS, NodenetError, error_named, error_of
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure

EXITS = {
    Message.INTERNAL_ERROR: (70, "Failed"),
    Message.SETTINGS_INVALID: (78, "SettingsInvalid"),
    Message.NODE_FILE_INVALID: (65, "NodeFileInvalid"),
    Message.LIBNMSTATE_MISSING: (78, "LibnmstateMissing"),
    Message.APPLY_FAILED: (1, "ApplyFailed"),
    Message.PROBE_FAILED: (1, "ApplyFailed"),
    Message.ROLLBACK_FAILED: (1, "RollbackFailed"),
    Message.PUBLISH_FAILED: (74, "PublishFailed"),
    Message.UNIT_FAILED: (1, "UnitFailed"),
    Message.UPLINK_REFUSED: (65, "UplinkRefused"),
    Message.BRIDGE_FOREIGN: (1, "BridgeForeign"),
    Message.ALREADY_RUNNING: (75, "AlreadyRunning"),
}
NAMED = [getattr(errors, node.name) for node in ast.parse(Path(errors.__file__).read_text()).body
         if isinstance(node, ast.ClassDef)]  # fmt: skip


@pytest.mark.parametrize("message", Message)
def test_every_message_has_an_exit_code_and_a_bus_name(message: Message) -> None:
    """Only an internal error exits with 70, which says that nobody has foreseen it (R54)."""
    code, name = EXITS.get(message, (1, "StageFailed"))
    error = error_of(message)
    assert (error.exit_code, error.bus_name) == (code, f"org.nodenet1.Error.{name}")


def test_an_error_of_ours_comes_back_from_its_own_message() -> None:
    """The message of a class leads to this class, and INTERNAL_ERROR to none by chance (R54)."""
    for error in ERRORS:
        if "message" in vars(error) and error is not NodenetError:
            assert error_of(error.message) is error


def test_every_error_has_its_own_bus_name() -> None:
    """The list is complete: a new class that is not in it would come back from the bus as another."""
    inside = ["NotAFile", "OrderRefused", "NotAllowed", "Forbidden", "Unreachable", "Postponed"]
    never_sent = [error.__name__ for error in NAMED if error not in ERRORS]
    assert never_sent == inside, "those that are never sent over the bus"
    assert [error_named(error.bus_name) for error in ERRORS] == list(ERRORS)
    assert error_named("org.nodenet1.Error.Unheard") is NodenetError


def test_an_error_in_other_words_is_of_the_same_kind() -> None:
    """Whatever its constructor takes."""
    said = NmstateFailure(FailureKind.KILLED, "hung", "wait").saying("nmstate: hung", "reload")
    assert (said.kind, said.cause, said.remedy, str(said)) == (
        FailureKind.KILLED,
        "nmstate: hung",
        "reload",
        "nmstate: hung. reload",
    )


def test_a_problem_is_made_of_an_error_in_one_place() -> None:
    """Message, cause and remedy; the cause in other words where it is given."""
    error = errors.UnitFailed("it failed", remedy="look")
    assert Problem.of(error) == Problem(Message.UNIT_FAILED, "it failed", "look")
    assert Problem.of(error, "nmstate: it failed") == Problem(Message.UNIT_FAILED, "nmstate: it failed", "look")
