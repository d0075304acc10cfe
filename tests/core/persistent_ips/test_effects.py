from __future__ import annotations

import pytest

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.effects import Announce, ReadPod, ask, event_document
from nodenet.core.persistent_ips.model import ApiAway, Conflict, Expired, Forbidden, NotFound, Page, PodName


def test_a_step_is_a_value_and_its_answer_is_returned() -> None:
    steps = ask(ReadPod("vms", "p"))
    assert next(steps) == ReadPod("vms", "p")
    answer = object()
    with pytest.raises(StopIteration) as caught:
        steps.send(answer)
    assert caught.value.value is answer


CLAIM = Claim("vms", "vm", "u1", "7", "blue", deleting=False, ips=(), owner_pod="")


def test_an_event_is_shown_at_the_claim_or_the_pod() -> None:
    made = event_document(Announce("SubnetExhausted", "full", claim=CLAIM), "node-a", 0.0)
    assert made is not None
    namespace, event = made
    assert (namespace, event["involvedObject"]["kind"], event["message"]) == ("vms", "IPAMClaim", "full")
    assert (event["reason"], event["type"], event["firstTimestamp"]) == (
        "SubnetExhausted",
        "Warning",
        "1970-01-01T00:00:00Z",
    )
    at_pod = event_document(Announce("IPAddressConflict", "x" * 5000, pod=PodName("vms", "p")), "node-a", 0.0)
    assert at_pod is not None
    assert (at_pod[1]["involvedObject"]["kind"], len(at_pod[1]["message"])) == ("Pod", 1024)
    assert event_document(Announce("IPAddressConflict", "x"), "node-a", 0.0) is None


# How the API refuses: which refusals mean that it may not have been reached.


@pytest.mark.parametrize("kind", [Conflict, Expired, Forbidden, NotFound])
def test_an_answer_is_not_taken_for_silence(kind: type[NodenetError]) -> None:
    """After silence a request is sent again; after an answer it is not."""
    assert issubclass(ApiAway, Unavailable)
    assert not issubclass(kind, Unavailable)


def test_a_page_is_the_last_one_unless_it_says_so() -> None:
    assert Page((), "7").following == ""
