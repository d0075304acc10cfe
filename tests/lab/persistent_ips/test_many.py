"""Is any address given twice, or lost, when many nodes and pods want one at once?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from harness import eventually
from harness.kube_bulk import send_all
from ipam_node import Answer, IpamNode, NodeMaker
from ipam_site import PATIENCE, Network, Pod, Site, Space, claim_document, element, pod_document

SERVICES, ADDS = 12, 300
"""Enough for collisions in each step; `tools/bench/persistent_ips.py` has 1000 ADDs over more and more nodes."""
AT_ONCE = 50
"""Connections that a service has open at the same time."""


def made(space: Space, network: Network, names: Sequence[str], *, claimed: bool = True) -> list[Pod]:
    """Make a pod of each name, and its claim."""
    if claimed:
        send_all(space.admin, [("POST", space.claim_path(), claim_document(name, network)) for name in names])
    pods = f"/api/v1/namespaces/{space.name}/pods"
    documents = [pod_document(name, element(network, name if claimed else "")) for name in names]
    answers = send_all(space.admin, [("POST", pods, document) for document in documents])
    return [Pod(space.name, name, answer["metadata"]["uid"]) for name, answer in zip(names, answers, strict=True)]


async def all_done(work: Sequence[tuple[IpamNode, Pod]], network: Network, verb: str) -> list[Answer]:
    """Call for everything at once, as runtimes do: again, while a node asks for that."""
    limits = {id(worker): asyncio.Semaphore(AT_ONCE) for worker, _ in work}

    async def done(worker: IpamNode, pod: Pod) -> Answer:
        while True:
            async with limits[id(worker)]:
                answer = await worker.asked(verb, network, pod)
            if answer.code != 11:
                return answer
            await asyncio.sleep(0.5)

    return list(await asyncio.gather(*(done(worker, pod) for worker, pod in work)))


def test_hundreds_of_adds_on_twelve_nodes(site: Site, space: Space, node: NodeMaker) -> None:
    """No duplicate, claims and answers agree; after all claims and pods are gone, no address is taken."""
    network = site.network("10.64.0.0/23")
    workers = [node(start=False, wired=False) for _ in range(SERVICES)]
    for worker in workers:
        worker.start(wait=False)
    names = [f"vm-{number}" for number in range(ADDS)]
    pods = made(space, network, names)
    for worker in workers:
        worker.wait_ready()
    work = [(workers[number % SERVICES], pod) for number, pod in enumerate(pods)]
    answers = asyncio.run(all_done(work, network, "ADD"))
    assert Counter(answer.exit for answer in answers) == {0: ADDS}
    given = {name: answer.ips for name, answer in zip(names, answers, strict=True)}
    assert len({ip for ips in given.values() for ip in ips}) == ADDS
    claims = space.admin.get(space.claim_path())["items"]
    assert {claim["metadata"]["name"]: claim["status"]["ips"] for claim in claims} == given
    assert len(site.leases(network)) == ADDS
    assert {answer.exit for answer in asyncio.run(all_done(work, network, "DEL"))} == {0}
    assert len(site.leases(network)) == ADDS, "the claims hold their addresses"
    send_all(space.admin, [("DELETE", space.claim_path(name), None) for name in names])
    eventually(lambda: site.leases(network) == [], "all addresses to be free", timeout=3 * PATIENCE, pause=1)


def test_more_pods_than_addresses(site: Site, space: Space, node: NodeMaker) -> None:
    """Three nodes and thirty pods race for 14 addresses: each address is given once, the other pods wait."""
    network = site.network("10.65.0.0/28")
    workers = [node(wired=False) for _ in range(3)]
    names = [f"pod-{number}" for number in range(30)]
    pods = made(space, network, names, claimed=False)

    async def race() -> list[Answer]:
        return list(
            await asyncio.gather(*(workers[number % 3].asked("ADD", network, pod) for number, pod in enumerate(pods)))
        )

    answers = asyncio.run(race())
    given = [ip for answer in answers if answer.exit == 0 for ip in answer.ips]
    assert len(given) == len(set(given)) == len(site.leases(network))
    assert {answer.code for answer in answers if answer.exit} == {11}
    assert len(given) in (13, 14)
    for number, pod in enumerate(pods):
        assert workers[number % 3].ask("DEL", network, pod).exit == 0
    eventually(lambda: site.leases(network) == [], "all addresses to be free", timeout=PATIENCE)


def test_two_services_of_one_node(site: Site, space: Space, node: NodeMaker) -> None:
    """Started twice by mistake, with one socket and one store: one serves, and nothing is given twice."""
    network = site.network()
    worker = node(wired=False)
    address = worker.ask("ADD", network, space.pod("first", element(network))).ips
    twin = worker.twin()
    twin.start(wait=False)
    assert twin.wait_end() != 0
    pods = [space.pod(f"pod-{number}", element(network)) for number in range(10)]
    given = [worker.ask("ADD", network, pod).ips[0] for pod in pods]
    assert len({*given, *address}) == 11
    assert worker.runs


def test_two_nodes_of_one_name(site: Site, space: Space, node: NodeMaker) -> None:
    """Two machines were given the same node name: the API decides about each address all the same."""
    network = site.network("10.66.0.0/27")
    workers = [node(wired=False, node_name="same"), node(wired=False, node_name="same")]
    given = []
    for number in range(20):
        space.claim(f"vm-{number}", network)
        pod = space.pod(f"vm-{number}", element(network, f"vm-{number}"))
        given.append(workers[number % 2].ask("ADD", network, pod).ips[0])
    assert len(set(given)) == 20
    workers[1].kill()
    workers[1].start()
    assert len(site.leases(network)) == 20
