"""Does each failure arrive as the class that says what to do about it?"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import libnmstate
from libnmstate import _errors, error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARENTS = {
    "NmstateDependencyError": ["NmstateError"],
    "NmstateValueError": ["NmstateError", "ValueError"],
    "NmstatePermissionError": ["NmstateError", "PermissionError"],
    "NmstateConflictError": ["NmstateError", "RuntimeError"],
    "NmstateLibnmError": ["NmstateError"],
    "NmstateVerificationError": ["NmstateError"],
    "NmstateKernelIntegerRoundedError": ["NmstateVerificationError"],
    "NmstateNotImplementedError": ["NmstateError", "NotImplementedError"],
    "NmstateInternalError": ["NmstateError"],
    "NmstateNotSupportedError": ["NmstateError"],
    "NmstateTimeoutError": ["NmstateLibnmError"],
    "NmstatePluginError": ["NmstateError"],
    "NmstatePolicyError": ["NmstateError"],
    "NmstateBackendUnavailableError": ["NmstateError"],
    "NmstateCheckpointBusyError": ["NmstateConflictError"],
    "NmstateCheckpointGoneError": ["NmstateTimeoutError"],
}


@pytest.mark.parametrize("name", PARENTS)
def test_the_class_tree_is_the_official_one_and_ours_below_it(name: str) -> None:
    cls = getattr(error, name)
    assert [base.__name__ for base in cls.__bases__] == PARENTS[name]
    assert libnmstate.NmstateError is error.NmstateError


BUS = "DbusConnectionError: org.freedesktop.DBus.Error"


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("InvalidArgument", "no", error.NmstateValueError),
        ("PluginFailure", "Cannot create unsupported interface", error.NmstatePluginError),
        ("PluginFailure", "Failed to read data from OVSDB connection: reset", error.NmstateBackendUnavailableError),
        ("VerificationError", "no", error.NmstateVerificationError),
        ("NotImplementedError", "no", error.NmstateNotImplementedError),
        ("NotSupportedError", "no", error.NmstateNotSupportedError),
        ("KernelIntegerRoundedError", "no", error.NmstateKernelIntegerRoundedError),
        ("DependencyError", "no", error.NmstateDependencyError),
        ("PermissionError", "no", error.NmstatePermissionError),
        ("PolicyError", "no", error.NmstatePolicyError),
        ("SrIovVfNotFound", "no", error.NmstateError),
        ("Bug", "Device(NotActive): no", error.NmstateInternalError),
        ("Bug", "CheckpointConflict: Another checkpoint exists", error.NmstateCheckpointBusyError),
        ("Bug", "Manager(InvalidArguments): checkpoint /o/1 does not exist", error.NmstateCheckpointGoneError),
        ("Bug", "NotFound: Not active checkpoints", error.NmstateCheckpointGoneError),
        ("Bug", "Timeout: Timeout on waiting rollback", error.NmstateTimeoutError),
        ("Bug", f"{BUS}.ServiceUnknown: not provided", error.NmstateBackendUnavailableError),
        ("Bug", f"{BUS}.NoReply: left", error.NmstateBackendUnavailableError),
        ("Bug", f"{BUS}.AccessDenied: no", error.NmstatePermissionError),
        ("Bug", f"{BUS}.UnknownMethod: no", error.NmstateInternalError),
    ],
)
def test_a_kind_and_its_message_decide_the_class(kind: str, message: str, expected: type[error.NmstateError]) -> None:
    failed = _errors.from_failure(kind, message, {})
    assert type(failed) is expected
    assert "Bug" not in str(failed)


def test_a_failed_apply_says_what_became_of_its_checkpoint() -> None:
    failed = _errors.from_failure("VerificationError", "no", {"checkpoint": "/o/1", "rollback_error": "gone"})
    assert (failed.checkpoint, failed.rollback_error) == ("/o/1", "gone")


@pytest.fixture
def private_bus(tmp_path: Path) -> Iterator[str]:
    """A bus of our own on which nobody is NetworkManager."""
    address = f"unix:path={tmp_path}/bus"
    command = ["dbus-daemon", "--session", "--nofork", "--print-address=1", f"--address={address}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bus:
        assert bus.stdout is not None
        assert bus.stdout.readline()
        yield address
        bus.terminate()


COMMIT = """
import libnmstate
from libnmstate.error import NmstateBackendUnavailableError
try:
    libnmstate.commit(checkpoint="/org/freedesktop/NetworkManager/Checkpoint/1")
except NmstateBackendUnavailableError as error:
    print(error.backend)
"""


def backend_that_is_missing(bus_address: str) -> str:
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": bus_address}
    done = subprocess.run(
        [sys.executable, "-c", COMMIT], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_a_bus_without_networkmanager_is_a_backend_that_is_not_there(private_bus: str) -> None:
    assert backend_that_is_missing(private_bus) == "NetworkManager"


def test_no_bus_is_a_backend_that_is_not_there(tmp_path: Path) -> None:
    assert backend_that_is_missing(f"unix:path={tmp_path}/no-bus") == "NetworkManager"


@pytest.mark.parametrize("seconds", [-1, 2**32])
def test_a_time_out_that_networkmanager_cannot_count_is_refused(seconds: int) -> None:
    with pytest.raises(error.NmstateValueError, match="rollback_timeout"):
        libnmstate.apply({}, rollback_timeout=seconds)
