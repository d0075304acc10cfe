"""How is an error worded that ended an apply?"""

from __future__ import annotations

import structlog

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure

log = structlog.get_logger()


def as_failure(error: Exception) -> NodenetError:
    """Return *error*, which ended an apply, as a failed try with a cause: the network was touched before it."""
    if isinstance(error, Unavailable):
        return NmstateFailure(FailureKind.UNAVAILABLE, error.cause, error.remedy)
    if isinstance(error, NodenetError):
        return error
    log.error(f"An apply met an unexpected error: {error!r}", message=Message.INTERNAL_ERROR, exc_info=error)
    return NmstateFailure(FailureKind.INTERNAL, f"unexpected error of nodenetd: {error!r}")


def with_more(failure: NodenetError, more: str) -> NmstateFailure:
    """Return *failure* of an apply that was not rolled back, with why not."""
    kind, said = FailureKind.UNAVAILABLE, ""
    if isinstance(failure, NmstateFailure):
        kind, said = failure.kind, failure.said
    return NmstateFailure(kind, f"{failure.cause}; {more}", failure.remedy, said)
