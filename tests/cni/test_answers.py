"""What the service knows: documents, refusals, and a check while pods come and go."""

from __future__ import annotations

from core.persistent_ips.ipam_book import ATTACHED, CLAIM, ORDINARY, REFERENCE, RESERVED, SEEN, Cluster, here, lease_of
from nodenet.cni import people as module
from nodenet.cni.people import Answers
from nodenet.core.persistent_ips.book import Put
from nodenet.core.persistent_ips.effects import Here, Steps, T


def answers(where: Here, cluster: Cluster) -> Answers:
    async def run(steps: Steps[T]) -> T:
        return cluster.carry_out(where, steps)

    return Answers(lambda: where, run, lambda: ["The API does not answer"])


def test_the_document_has_the_problems() -> None:
    made = answers(here(RESERVED, ATTACHED), Cluster())
    document = made.document()
    assert document["problems"] == ["The API does not answer"]
    assert [entry["state"] for entry in document["addresses"]] == ["attached"]


def test_the_last_refusal_of_a_pod_is_explained_until_it_is_served() -> None:
    made = answers(here(REFERENCE), Cluster())
    made.refused("team/a", "first")
    made.refused("team/a", "second")
    made.refused("team/stranger", "third")
    assert made.explain("team/vm.blue").splitlines()[-1] == "Pod team/a got no address when it asked last: second"
    made.served("team/a")
    assert "got no address" not in made.explain("team/vm.blue")


def test_refusals_are_bounded() -> None:
    made = answers(here(), Cluster())
    for number in range(module.MOST_REFUSALS + 1):
        made.refused(f"team/{number}", "IPAMClaim team/vm.blue is being deleted")
    shown = made.explain("team/vm.blue")
    assert "Pod team/0 " not in shown
    assert shown.count(" got no address ") == module.MOST_REFUSALS


async def test_a_check_repairs_only_on_request() -> None:
    where, cluster = here(RESERVED, SEEN), Cluster(claims=(CLAIM,))
    made = answers(where, cluster)
    found = await made.check(repair=False)
    assert [one["repaired"] for one in found["differences"]] == [False]
    assert cluster.changes == []
    found = await made.check(repair=True)
    assert [one["repaired"] for one in found["differences"]] == [True]
    assert (await made.check(repair=False))["differences"] == []


async def test_what_is_reserved_during_the_check_is_no_difference() -> None:
    """Its Lease was not among those that were listed."""
    where = here(SEEN, claims=())
    cluster = Cluster(lease_of(RESERVED, "worker-9"))

    async def run(steps: Steps[T]) -> T:
        found = cluster.carry_out(where, steps)
        where.book.take((Put(ORDINARY),))
        return found

    listed = (await Answers(lambda: where, run, list).check(repair=False))["differences"]
    assert [one["cause"] for one in listed] == ["its Lease is of claim team/vm.blue, which is gone"]
