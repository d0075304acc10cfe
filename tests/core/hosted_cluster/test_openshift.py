"""The status of the ClusterOperator."""

from core.hosted_cluster.test_conditions import GOOD
from nodenet.core.hosted_cluster.cluster_status import conditions, operator_status, with_times


def test_the_conditions_of_the_object_and_the_version() -> None:
    found = operator_status(with_times(conditions(GOOD), None, 2, "T"), "1.2.3")
    assert found["conditions"][0] == {
        "type": "Available",
        "status": "True",
        "reason": "ApiAnswers",
        "message": "The API answers at its VIP",
        "lastTransitionTime": "T",
    }
    assert [one["type"] for one in found["conditions"]] == [
        *("Available", "Progressing", "Degraded", "Disabled", "VerifyFailed")
    ]
    assert found["versions"] == [{"name": "operator", "version": "1.2.3"}]
    assert [one["resource"] for one in found["relatedObjects"]] == ["hostednetservices", "namespaces"]
