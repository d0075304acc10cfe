"""What happens while the API is stopped, slow, busy, or forgets what a watch has missed?

A proxy between the service and a real kube-apiserver makes the faults.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from harness import eventually
from ipam_node import NodeMaker
from ipam_site import PATIENCE, Site, Space, element, freed

STATUS = r"/ipamclaims/[^/]+/status"
LONGEST_ANSWER = 35.0
"""Seconds; a runtime waits longer than this for its plugin."""


def test_without_an_api(site: Site, space: Space, node: NodeMaker) -> None:
    """What has its address keeps it, over a restart too; new pods and new sandboxes wait, and deletions succeed."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    known, plain = space.pod("known", element(network, "vm")), space.pod("plain", element(network))
    fresh = space.pod("fresh", element(network))
    address, other = (worker.ask("ADD", network, pod).ips for pod in (known, plain))
    site.proxy.close()
    for restart in (False, True):
        if restart:
            worker.kill()
            worker.start()
        assert worker.ask("ADD", network, known).ips == address
        assert worker.ask("ADD", network, plain).ips == other
        began = time.monotonic()
        assert worker.ask("ADD", network, fresh).code == 11
        assert time.monotonic() - began < LONGEST_ANSWER
    for pod in (plain, known):
        assert worker.ask("DEL", network, pod).exit == 0
    assert worker.ask("ADD", network, known).code == 11
    site.proxy.open()
    eventually(lambda: worker.ask("ADD", network, fresh).exit == 0 or None, "the API", timeout=PATIENCE)
    assert worker.ask("ADD", network, known).ips == address
    freed(site, network, left=2)
    assert space.ips("vm") == address


def test_a_claim_deleted_while_the_api_is_away(site: Site, space: Space, node: NodeMaker) -> None:
    """The watch is cut and its version is too old: a list finds what was missed. The HTTP status and the event."""
    network = site.network()
    worker = node()
    for number, fault in enumerate(("status", "gone-event")):
        names = [f"gone-{number}", f"kept-{number}"]
        for name in names:
            space.claim(name, network)
            pod = space.pod(name, element(network, name))
            assert worker.ask("ADD", network, pod).exit == 0
            assert worker.ask("DEL", network, pod).exit == 0
        site.proxy.close()
        space.admin.delete(space.claim_path(names[0]))
        site.proxy.rule(fault, method="GET", path="watch=true", status=410, times=1)
        site.proxy.open()
        freed(site, network, left=number + 1)
        assert [len(space.ips(name)) for name in names[1:]] == [1]
        assert site.proxy.requests("GET", "watch=true")[-1]["fault"] in ("", fault)
        site.proxy.clear()


def test_a_slow_api(site: Site, space: Space, node: NodeMaker) -> None:
    """Each answer takes a second: ADDs are slow, beside each other, and right; DEL is not slow."""
    network = site.network()
    worker = node()
    pods = []
    for number in range(5):
        space.claim(f"vm-{number}", network)
        pods.append(space.pod(f"vm-{number}", element(network, f"vm-{number}")))
    site.proxy.rule("delay", path="^((?!watch=true).)*$", seconds=1.0)

    async def together() -> list[int]:
        return [one.exit for one in await asyncio.gather(*(worker.asked("ADD", network, pod) for pod in pods))]

    began = time.monotonic()
    assert asyncio.run(together()) == [0] * 5
    assert time.monotonic() - began < LONGEST_ANSWER
    began = time.monotonic()
    assert worker.ask("DEL", network, pods[0]).exit == 0
    assert time.monotonic() - began < 15
    site.proxy.clear()
    assert len({ip for number in range(5) for ip in space.ips(f"vm-{number}")}) == 5


def test_conflicts(site: Site, space: Space, node: NodeMaker) -> None:
    """A few 409 of the status are overcome; a storm of them ends in code 11, never in two addresses."""
    network = site.network()
    worker = node()
    space.claim("few", network)
    site.proxy.rule("status", method="PATCH", path=STATUS, status=409, times=2)
    pod = space.pod("few", element(network, "few"))
    answer = eventually(
        lambda: one if (one := worker.ask("ADD", network, pod)).code != 11 else None, "an address", timeout=PATIENCE
    )
    assert answer.ips == space.ips("few")
    site.proxy.clear()
    site.proxy.rule("status", method="PATCH", path=STATUS, status=409)
    space.claim("storm", network)
    pod = space.pod("storm", element(network, "storm"))
    began = time.monotonic()
    assert worker.ask("ADD", network, pod).code == 11
    assert time.monotonic() - began < LONGEST_ANSWER
    assert space.ips("storm") == []
    site.proxy.clear()
    assert worker.ask("ADD", network, pod).ips == space.ips("storm")
    freed(site, network, left=2)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_api_that_is_overloaded(site: Site, space: Space, node: NodeMaker, status: int) -> None:
    """Code 11 in time; afterwards everything is as if nothing had been."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    pod = space.pod("vm", element(network, "vm"))
    site.proxy.rule("status", method="POST", path="/leases", status=status)
    assert worker.ask("ADD", network, pod).code == 11
    site.proxy.clear()
    assert worker.ask("ADD", network, pod).ips == space.ips("vm")
    assert len(site.leases(network)) == 1


@pytest.mark.parametrize(("method", "path"), [("POST", "/leases"), ("PATCH", STATUS), ("GET", "/pods/")])
@pytest.mark.parametrize("fault", ["lose", "garbage"])
def test_an_answer_that_is_lost(  # noqa: PLR0913 -- three fixtures and three parameters
    site: Site, space: Space, node: NodeMaker, method: str, path: str, fault: str
) -> None:
    """Whether the server did it is unknown: the next ADD finds out, and one address is taken."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    pod = space.pod("vm", element(network, "vm"))
    site.proxy.rule(fault, method=method, path=path, times=1)
    answer = eventually(
        lambda: one if (one := worker.ask("ADD", network, pod)).code != 11 else None, "an address", timeout=PATIENCE
    )
    assert answer.ips == space.ips("vm")
    freed(site, network, left=1)


def test_another_node_reports_first(site: Site, space: Space, node: NodeMaker) -> None:
    """Two nodes allocate for one claim at once: the later one takes what the other wrote, and drops its own."""
    network = site.network()
    first, second = node(), node(proxy=False)
    labels = {"vm.kubevirt.io/name": "vm"}
    space.claim("vm", network)
    one, two = (space.pod(name, element(network, "vm"), labels=labels) for name in ("one", "two"))
    site.proxy.rule("hold", method="PATCH", path=STATUS, times=1)

    async def race() -> tuple[list[str], list[str]]:
        slow = asyncio.ensure_future(first.asked("ADD", network, one))
        await asyncio.to_thread(
            eventually, lambda: site.proxy.requests("PATCH", space.name), "the held request", timeout=PATIENCE
        )
        fast = await second.asked("ADD", network, two)
        await asyncio.to_thread(site.proxy.release)
        return (await slow).ips, fast.ips

    slow, fast = asyncio.run(race())
    assert slow == fast == space.ips("vm")
    freed(site, network, left=1)


def test_an_idle_service_asks_nothing(site: Site, space: Space, node: NodeMaker) -> None:
    """Only the watch is open."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    assert worker.ask("ADD", network, space.pod("vm", element(network, "vm"))).exit == 0

    def quiet() -> bool:
        before = len(site.proxy.requests())
        time.sleep(5)
        return len(site.proxy.requests()) == before

    eventually(quiet, "five seconds without a request", timeout=PATIENCE)
