"""Which class does an error of the crate become?

The crate names most kinds. Everything that NetworkManager's bus answered and the crate
has no kind for is called "Bug" there; those are distinguished by the message, which starts with the
crate's own name of the case (`DbusConnectionError: ...`). The texts are those of the pinned crate.
"""

from __future__ import annotations

from . import error

Details = dict[str, str | int]

_BY_KIND: dict[str, type[error.NmstateError]] = {
    "InvalidArgument": error.NmstateValueError,
    "PluginFailure": error.NmstatePluginError,
    "Bug": error.NmstateInternalError,
    "VerificationError": error.NmstateVerificationError,
    "NotImplementedError": error.NmstateNotImplementedError,
    "NotSupportedError": error.NmstateNotSupportedError,
    "KernelIntegerRoundedError": error.NmstateKernelIntegerRoundedError,
    "DependencyError": error.NmstateDependencyError,
    "PolicyError": error.NmstatePolicyError,
    "PermissionError": error.NmstatePermissionError,
}

_OVSDB_SILENT = (
    "not able to connect OVS daemon",
    "Failed to send message to OVSDB",
    "Failed to flush buffer when sending message to OVSDB",
    "Empty reply from OVSDB",
    "OVSDB connection is not readable",
    "Failed to read data from OVSDB",
)
_DENIED = ("org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed")
# The bus works and a program answered, but did not know what the crate asked for.
_NOT_UNDERSTOOD = (
    "org.freedesktop.DBus.Error.UnknownMethod",
    "org.freedesktop.DBus.Error.UnknownObject",
    "org.freedesktop.DBus.Error.UnknownInterface",
    "org.freedesktop.DBus.Error.UnknownProperty",
    "org.freedesktop.DBus.Error.InvalidArgs",
)


def from_failure(kind: str, message: str, details: Details) -> error.NmstateError:
    """Turn what the native module raised into an exception of the public tree."""
    failed = _error(kind, message)
    for name, value in details.items():
        setattr(failed, name, value)
    return failed


def _error(kind: str, message: str) -> error.NmstateError:
    if kind == "Bug":
        return _from_bug(message)
    if kind == "PluginFailure" and any(text in message for text in _OVSDB_SILENT):
        return _unavailable("ovsdb", message)
    if kind == "InvalidArgument" and "PolicyError: " in message:
        return _policy_error(message)
    # A kind that a newer crate invents is still an error of ours.
    return _BY_KIND.get(kind, error.NmstateError)(message)


def _from_bug(message: str) -> error.NmstateError:
    case, _, cause = message.partition(": ")
    if case == "CheckpointConflict":
        return error.NmstateCheckpointBusyError(cause)
    if _names_lost_checkpoint(message):
        return error.NmstateCheckpointGoneError(cause)
    if case == "Timeout":
        return error.NmstateTimeoutError(cause)
    if case == "DbusConnectionError":
        return _from_bus(cause)
    if message.startswith("socket error "):
        return _unavailable("ovsdb", f"cannot connect to ovsdb: {message}")
    return error.NmstateInternalError(message)


def _names_lost_checkpoint(message: str) -> bool:
    if message.startswith("NotFound: ") and "active checkpoint" in message:
        return True
    return "checkpoint" in message and "does not exist" in message


def _from_bus(cause: str) -> error.NmstateError:
    if cause.startswith(_DENIED):
        return error.NmstatePermissionError(cause)
    if cause.startswith(_NOT_UNDERSTOOD):
        return error.NmstateInternalError(cause)
    return _unavailable("NetworkManager", f"NetworkManager cannot be reached over D-Bus: {cause}")


def _unavailable(backend: str, message: str) -> error.NmstateBackendUnavailableError:
    unavailable = error.NmstateBackendUnavailableError(message)
    unavailable.backend = backend
    return unavailable


def _policy_error(message: str) -> error.NmstatePolicyError:
    """Read a policy error back from the drawing that the parser put into its message.

    Three lines: the cause, `| ` and the expression, `| ` and dots up to a caret below the culprit.
    """
    cause, _, drawing = message.partition("PolicyError: ")[2].partition("\n| ")
    failed = error.NmstatePolicyError(cause)
    expression, _, pointer = drawing.partition("\n| ")
    if expression:
        failed.expression = expression
        failed.position = pointer.partition("^")[0].count(".")
    return failed
