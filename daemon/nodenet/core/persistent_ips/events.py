"""How is something shown to people at a claim or a pod: as an Event (v1)?"""

from __future__ import annotations

from typing import Any

from nodenet.core.persistent_ips import moment
from nodenet.core.persistent_ips.effects import Announce

MOST_MESSAGE = 1024
MOST_NAME = 200
REPORTER = "nodenet-ipam"


def document(announced: Announce, node: str, now: float) -> tuple[str, dict[str, Any]] | None:
    """Return the namespace and the Event; None where there is no object to show it at."""
    if announced.claim is not None:
        claim = announced.claim
        involved = {
            "apiVersion": "k8s.cni.cncf.io/v1alpha1",
            "kind": "IPAMClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
    elif announced.pod is not None:
        pod = announced.pod
        involved = {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    else:
        return None
    return involved["namespace"], {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{involved['name'][:MOST_NAME]}.", "namespace": involved["namespace"]},
        "involvedObject": involved,
        "type": "Warning",
        "reason": announced.reason,
        "message": announced.text[:MOST_MESSAGE],
        "source": {"component": REPORTER, "host": node},
        "reportingComponent": REPORTER,
        "reportingInstance": node,
        "firstTimestamp": moment.text(now),
        "lastTimestamp": moment.text(now),
        "count": 1,
    }
