"""How outcomes of the nmstate stage are worded."""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Problem, Skipped, Waiting
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.secret import Secrets
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.stages.nmstate.outcomes import beside, failed, without_secrets

PROBLEM = Problem(Message.NODE_FILE_QUARANTINED, "it is not used", "Correct it")


def test_work_that_was_done_has_its_problem_beside_it() -> None:
    """Also where there was nothing to do; a wait has a reason of its own."""
    done, waiting = Done("applied", Facts(), Message.NETWORK_APPLIED), Waiting("NetworkManager")
    skipped = Skipped("it matches", Facts(), Message.NETWORK_UNCHANGED)
    assert beside(done, None) is done
    assert beside(done, PROBLEM) == Done("applied", Facts(), Message.NETWORK_APPLIED, PROBLEM)
    assert beside(skipped, PROBLEM) == Done("it matches", Facts(), Message.NETWORK_UNCHANGED, PROBLEM)
    assert beside(waiting, PROBLEM) is waiting


def test_a_failure_keeps_its_kind_and_loses_its_secrets() -> None:
    hidden = without_secrets(ProbeFailed(FailureKind.PROBE, "psk geheim", "set geheim"), Secrets(frozenset({"geheim"})))
    assert isinstance(hidden, ProbeFailed)
    assert "geheim" not in hidden.cause + hidden.remedy


def test_a_file_that_is_wrong_is_named_so_and_a_full_disk_needs_a_reload() -> None:
    """The file is not applied by itself when there is space again."""
    invalid = failed(Facts(), NmstateFailure(FailureKind.INVALID, "mtu"), "worker-0.yml: mtu")
    assert (invalid.problem.message, invalid.problem.cause) == (Message.NODE_FILE_INVALID, "worker-0.yml: mtu")
    full = failed(Facts(), PublishFailed("full", remedy="Free space"), "full")
    assert full.problem.remedy == "Free space; then run `nodenetctl reload --wait`"
