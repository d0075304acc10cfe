"""What can go wrong, as a tree of classes?

The classes up to `NmstatePluginError` are those of the official binding; the rest say more
about cases that it reports as a plain `NmstateError` or as a bug.
"""

from __future__ import annotations


class NmstateError(Exception):
    """Root of all errors of this package.

    `checkpoint` is the NetworkManager checkpoint that the failed call had made: None says that
    the host was not touched. `rollback_error` says why going back to it failed, if it failed.
    """

    checkpoint: str | None = None
    rollback_error: str | None = None


class NmstateDependencyError(NmstateError):
    """Something that the state needs is not installed or too old, a NetworkManager plugin say."""


class NmstateValueError(NmstateError, ValueError):
    """The document is wrong: correct it and try again. Nothing was changed.

    `line` and `column` (from 1) are the YAML parser's, `interface` and `key` name an unknown key
    (dotted for a nested one); each is None when it is not known.
    """

    line: int | None = None
    column: int | None = None
    interface: str | None = None
    key: str | None = None


class NmstatePermissionError(NmstateError, PermissionError):
    """The caller may not do this; it usually takes root."""


class NmstateConflictError(NmstateError, RuntimeError):
    """Another program is changing the network right now."""


class NmstateLibnmError(NmstateError):
    """NetworkManager did something unexpected."""


class NmstateVerificationError(NmstateError):
    """The host does not look as asked after the apply; it was rolled back."""


class NmstateKernelIntegerRoundedError(NmstateVerificationError):
    """The kernel rounded a number that was asked for, a bridge timer say."""


class NmstateNotImplementedError(NmstateError, NotImplementedError):
    """nmstate cannot do this yet."""


class NmstateInternalError(NmstateError):
    """A case that nmstate did not expect, most likely a bug in it."""


class NmstateNotSupportedError(NmstateError):
    """A device cannot do what was asked."""


class NmstateTimeoutError(NmstateLibnmError):
    """A transaction took longer than it may."""


class NmstatePluginError(NmstateError):
    """A backend (kernel, Open vSwitch) refused or failed."""


class NmstatePolicyError(NmstateError):
    """A capture or template of a policy is wrong, or found nothing on this host.

    `expression` is the text that failed, `position` the offset (from 0) of the culprit in it.
    """

    expression: str | None = None
    position: int | None = None


class NmstateBackendUnavailableError(NmstateError):
    """A service could not be reached: not a fault of the document, a retry may help.

    `backend` is "NetworkManager" (its bus name or the bus itself) or "ovsdb".
    """

    backend: str = "NetworkManager"


class NmstateCheckpointBusyError(NmstateConflictError):
    """NetworkManager holds another checkpoint: wait for its time-out, or commit or undo it."""


class NmstateCheckpointGoneError(NmstateTimeoutError):
    """The checkpoint is no more: it timed out and was rolled back, or NetworkManager restarted."""
