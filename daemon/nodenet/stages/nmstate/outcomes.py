"""How is an outcome of the nmstate stage worded?"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Failed, Problem
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.secret import Secrets


def without_secrets(failure: NmstateFailure, secrets: Secrets) -> NmstateFailure:
    """Return *failure* without the *secrets* of the node file, which libnmstate may quote."""
    return type(failure)(failure.kind, *map(secrets.hidden_in, (failure.cause, failure.remedy, failure.said)))


def failed(facts: Facts, error: NodenetError, cause: str) -> Failed:
    """Return the failure with *error*, whose *cause* names the file."""
    invalid = isinstance(error, NmstateFailure) and error.kind is FailureKind.INVALID
    message = Message.NODE_FILE_INVALID if invalid else error.message
    # The node file is not applied when a disk works again: that would change the network under a running kubelet.
    then = "; then run `nodenetctl reload --wait`" if isinstance(error, PublishFailed) else ""
    return Failed(Problem(message, cause, error.remedy + then), facts)
