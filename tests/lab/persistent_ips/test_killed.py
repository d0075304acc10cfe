"""Does the invariant hold when the service is killed at any step?

First one allocation and one release run undisturbed, and the proxy records their requests. Then each request is made
once more, and the service is killed before the server has it, or after the server has done it. What lies between two
requests, such as the record on the disk, is covered by the kill before the later one.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import pytest

from harness import eventually
from ipam_node import Answer, IpamNode, NodeMaker
from ipam_site import PATIENCE, Network, Pod, Site, Space, duplicates, element

MOMENTS = ("kill", "kill-after")
"""Before the server has the request, and after it has done it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A request of the service."""

    method: str
    resource: str


EPHEMERAL = {Step("GET", "/pods"), Step("POST", "/leases")}
CLAIMED = EPHEMERAL | {Step("PATCH", "/ipamclaims")}
"""At least these requests make an allocation."""


def quiet(site: Site) -> None:
    """Wait until the service has done what it does after a start."""

    def nothing_more() -> bool:
        before = len(site.proxy.requests())
        time.sleep(0.5)
        return len(site.proxy.requests()) == before

    eventually(nothing_more, "half a second without a request", timeout=PATIENCE)


def steps_of(entries: list[dict[str, str]]) -> list[Step]:
    """Return the requests in their order, without watches."""
    return [
        Step(entry["method"], f"/{resource}")
        for entry in entries
        for resource in ("pods", "leases", "ipamclaims")
        if f"/{resource}" in entry["path"] and "watch=" not in entry["path"]
    ]


def kill_at(site: Site, worker: IpamNode, step: Step, moment: str) -> None:
    """Let the next request of this kind kill the service."""
    site.proxy.rule(moment, method=step.method, path=f"{step.resource}.*(?<!watch=true)$", pid=worker.pid, times=1)


def holds(site: Site, space: Space, network: Network) -> None:
    """Assert what is true at every moment: reported addresses are reserved, and none is reported twice."""
    claims = [one for one in space.admin.get(space.claim_path())["items"] if one["spec"]["network"] == network.name]
    assert duplicates(claims) == {}
    reported = [one for claim in claims for one in (claim.get("status") or {}).get("ips") or []]
    assert len(site.leases(network)) >= len(reported)


def served(worker: IpamNode, network: Network, pod: Pod) -> Answer:
    """Add as a runtime does: again, until it is not asked to try again."""
    return eventually(
        lambda: answer if (answer := worker.ask("ADD", network, pod)).code != 11 else None,
        f"an address for {pod.name}",
        timeout=PATIENCE,
        pause=0.2,
    )


def lost(worker: IpamNode, verb: str, network: Network, pod: Pod) -> Answer | None:
    """Call a service that dies meanwhile."""
    try:
        return worker.ask(verb, network, pod)
    except OSError:
        return None


@pytest.mark.parametrize("claimed", [True, False], ids=["claim", "ephemeral"])
def test_killed_in_an_allocation(site: Site, space: Space, node: NodeMaker, claimed: bool) -> None:  # noqa: FBT001
    """After each kill: the retried ADD succeeds, the status is as answered, and the deletion frees everything."""
    network = site.network()
    worker = node()
    names = iter(range(1000))

    def fresh() -> tuple[str, Pod]:
        name = f"vm-{next(names)}"
        if claimed:
            space.claim(name, network)
        return name, space.pod(name, element(network, name if claimed else ""))

    everything = [fresh()]
    assert worker.ask("ADD", network, everything[0][1]).exit == 0
    quiet(site)
    since = len(site.proxy.requests())
    everything.append(fresh())
    assert worker.ask("ADD", network, everything[1][1]).exit == 0
    steps = dict.fromkeys(steps_of(site.proxy.requests(since=since)))
    assert set(steps) >= (CLAIMED if claimed else EPHEMERAL)
    for step, moment in itertools.product(steps, MOMENTS):
        name, pod = fresh()
        everything.append((name, pod))
        kill_at(site, worker, step, moment)
        lost(worker, "ADD", network, pod)
        worker.wait_end()
        holds(site, space, network)
        site.proxy.clear()
        worker.start()
        answer = served(worker, network, pod)
        assert space.ips(name) == answer.ips if claimed else answer.ips, (step, moment)
        holds(site, space, network)
        assert len(site.leases(network)) == len(everything), (step, moment)
        quiet(site)
    for name, pod in everything:
        assert worker.ask("DEL", network, pod).exit == 0
        if claimed:
            space.admin.delete(space.claim_path(name))
    eventually(lambda: site.leases(network) == [], "all addresses to be free", timeout=PATIENCE)


def test_killed_in_a_release(site: Site, space: Space, node: NodeMaker) -> None:
    """The claim is gone: whenever the service dies, its address is free at the end, and no other one is."""
    network = site.network()
    worker = node()
    space.claim("kept", network)
    kept = worker.ask("ADD", network, space.pod("kept", element(network, "kept"))).ips
    for number, (moment, step) in enumerate(
        (moment, step)
        for step in (Step("DELETE", "/leases"), Step("GET", "/leases"), Step("GET", "/ipamclaims"))
        for moment in MOMENTS
    ):
        name = f"vm-{number}"
        space.claim(name, network)
        pod = space.pod(name, element(network, name))
        assert worker.ask("ADD", network, pod).exit == 0
        worker.ask("DEL", network, pod)
        since = len(site.proxy.requests())
        kill_at(site, worker, step, moment)
        space.admin.delete(space.claim_path(name))
        eventually(lambda: not worker.runs or len(site.leases(network)) == 1, "the kill, or the end", timeout=PATIENCE)
        site.proxy.clear()
        if any(entry["fault"] for entry in site.proxy.requests(since=since)):  # it can come after the Lease has gone
            worker.wait_end()
            worker.start()
        eventually(lambda: len(site.leases(network)) == 1, f"the release after {moment} {step}", timeout=PATIENCE)
        assert space.ips("kept") == kept


def test_killed_while_the_claim_is_deleted(site: Site, space: Space, node: NodeMaker) -> None:
    """Nothing ran when the claim went: the next start finds it."""
    network = site.network()
    worker = node()
    for name in ("kept", "gone"):
        space.claim(name, network)
        pod = space.pod(name, element(network, name))
        assert worker.ask("ADD", network, pod).exit == 0
        assert worker.ask("DEL", network, pod).exit == 0
    worker.kill()
    space.admin.delete(space.claim_path("gone"))
    worker.start()
    eventually(lambda: len(site.leases(network)) == 1, "the release", timeout=PATIENCE)
    assert space.ips("kept")


def test_killed_in_a_migration(site: Site, space: Space, node: NodeMaker) -> None:
    """The target's node dies between its steps; the source is untouched, and the target gets the same address."""
    network = site.network()
    first, second = node(), node()
    labels = {"vm.kubevirt.io/name": "vm"}
    space.claim("vm", network)
    source = space.pod("source", element(network, "vm"), labels=labels)
    address = first.ask("ADD", network, source).ips
    for number, moment in enumerate(MOMENTS):
        target = space.pod(f"target-{number}", element(network, "vm"), labels=labels)
        quiet(site)  # so the ADD makes the next change of the claim, and no chore of the last DEL
        kill_at(site, second, Step("PATCH", "/ipamclaims"), moment)
        lost(second, "ADD", network, target)
        second.wait_end()
        site.proxy.clear()
        second.start()
        assert served(second, network, target).ips == address == space.ips("vm")
        assert second.ask("DEL", network, target).exit == 0
        assert len(site.leases(network)) == 1
    result = {"cniVersion": "1.1.0", "ips": [{"address": one} for one in address]}
    assert first.ask("CHECK", network, source, prevResult=result).exit == 0
