"""Who leads: the holder of the Lease; another one only after it was not renewed for its whole length."""

from typing import Any

from nodenet.core.hosted_cluster.leases import LEASE_SECONDS, Step, Watched, seen, spec, step


def lease(holder: str | None, version: str = "1", seconds: object = LEASE_SECONDS) -> dict[str, Any]:
    given = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": "T", "leaseTransitions": 3}
    return {"metadata": {"resourceVersion": version}, "spec": given}


def test_without_a_lease_one_is_made() -> None:
    assert step("a", None, Watched(), 0.0) is Step.CREATE
    assert spec("a", None, Step.CREATE, "T1") == {
        "holderIdentity": "a",
        "leaseDurationSeconds": LEASE_SECONDS,
        "acquireTime": "T1",
        "renewTime": "T1",
        "leaseTransitions": 0,
    }


def test_the_holder_renews_and_changes_nothing_else() -> None:
    assert step("a", lease("a"), Watched("1", 0.0), 1000.0) is Step.RENEW
    assert spec("a", lease("a"), Step.RENEW, "T2") == lease("a")["spec"] | {"renewTime": "T2"}


def test_another_one_waits_while_the_lease_is_renewed_and_takes_it_when_it_is_not() -> None:
    watched = seen(Watched(), lease("a", "1"), 10.0)
    assert step("b", lease("a", "1"), watched, 10.0 + LEASE_SECONDS - 1) is Step.WAIT
    renewed = seen(watched, lease("a", "2"), 50.0)
    assert step("b", lease("a", "2"), renewed, 50.0 + LEASE_SECONDS - 1) is Step.WAIT
    same = seen(renewed, lease("a", "2"), 100.0)
    assert step("b", lease("a", "2"), same, 50.0 + LEASE_SECONDS) is Step.TAKE
    assert spec("b", lease("a"), Step.TAKE, "T")["leaseTransitions"] == 4
