"""What does a cluster of OpenShift show of hosted services among its operators?

The conditions are those of the object HostedNetServices. The kind is ``clusteroperators.config.openshift.io``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodenet.core.hosted_services.resource import GROUP, NAME

PATH = "/apis/config.openshift.io/v1/clusteroperators"
OPERATOR = "hosted-net-services"
NEW = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": OPERATOR}, "spec": {}}
FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")


def status(conditions: Sequence[Mapping[str, Any]], version: str) -> dict[str, Any]:
    """Return the status of the ClusterOperator; *conditions* as the object has them, *version* that of nodenet."""
    return {
        "conditions": [{field: one[field] for field in FIELDS} for one in conditions],
        "versions": [{"name": "operator", "version": version}],
        "relatedObjects": [
            {"group": GROUP, "resource": "hostednetservices", "name": NAME},
            {"group": "", "resource": "namespaces", "name": "kube-system"},
        ],
    }
