from __future__ import annotations

from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.effects import Announce, event_document
from nodenet.core.persistent_ips.model import PodName

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
