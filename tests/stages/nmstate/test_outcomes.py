"""How outcomes of the nmstate stage are worded."""

from __future__ import annotations

from nodenet.core.apply.new_file import is_permanent
from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.secret import Secrets
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.stages.nmstate.job import failed, without_secrets


def test_a_failure_keeps_its_kind_and_loses_its_secrets() -> None:
    """And keeps libnmstate's own words, by which a failure for good is known."""
    failure = ProbeFailed(FailureKind.PROBE, "psk geheim", "set geheim", "geheim: Operation not supported")
    hidden = without_secrets(failure, Secrets(frozenset({"geheim"})))
    assert isinstance(hidden, ProbeFailed)
    assert "geheim" not in hidden.cause + hidden.remedy + hidden.said
    assert is_permanent(hidden)


def test_a_file_that_is_wrong_is_named_so_and_a_full_disk_needs_a_reload() -> None:
    """The file is not applied by itself when there is space again."""
    invalid = failed(Facts(), NmstateFailure(FailureKind.INVALID, "mtu"), "worker-0.yml: mtu")
    assert (invalid.problem.message, invalid.problem.cause) == (Message.NODE_FILE_INVALID, "worker-0.yml: mtu")
    full = failed(Facts(), PublishFailed("full", remedy="Free space"), "full")
    assert full.problem.remedy == "Free space; then run `nodenetctl reload --wait`"
