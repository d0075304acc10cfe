"""What if the disk fails, is full, or is from another day?"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import power_cut
from harness import eventually, host
from ipam_node import IpamNode, NodeMaker
from ipam_site import PATIENCE, Network, Pod, Site, Space, element, freed


def _gone(store: Path) -> None:
    for path in store.parent.glob(f"{store.name}*"):
        path.unlink()


def _text(store: Path) -> None:
    _gone(store)
    store.write_text("not a database\n" * 100)


def _torn(store: Path) -> None:
    for path in store.parent.glob(f"{store.name}-*"):
        path.unlink()
    content = store.read_bytes()
    store.write_bytes(content[:100] + b"\xff" * (len(content) // 2))


def _directory(store: Path) -> None:
    _gone(store)
    store.mkdir()


@pytest.mark.parametrize("damage", [_gone, _text, _torn, _directory])
def test_a_store_that_is_lost(site: Site, space: Space, node: NodeMaker, damage: Callable[[Path], None]) -> None:
    """It is made again from claims and Leases: nothing moves, and nothing is given twice."""
    network = site.network("10.67.0.0/28")
    worker = node(wired=False)
    space.claim("vm", network)
    pods = [space.pod("vm", element(network, "vm")), *(space.pod(f"p-{n}", element(network)) for n in range(4))]
    given = [worker.ask("ADD", network, pod).ips for pod in pods]
    worker.kill()
    damage(worker.store)
    worker.start()
    assert space.ips("vm") == given[0]
    more = [worker.ask("ADD", network, space.pod(f"q-{number}", element(network))).ips for number in range(4)]
    assert not {ip for ips in more for ip in ips} & {ip for ips in given for ip in ips}
    again = [worker.ask("ADD", network, pod).ips for pod in pods]
    assert again[0] == given[0]
    assert len(site.leases(network)) == 9
    for pod in pods:
        worker.ask("DEL", network, pod)
        space.remove_pod(pod)
    space.admin.delete(space.claim_path("vm"))
    freed(site, network, left=4)


def fill(path: Path) -> None:
    """Write a file until no space is left."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 4096):
            pass


def test_a_full_disk(site: Site, space: Space, node: NodeMaker) -> None:
    """An ADD that cannot be recorded is refused, and its address is not lost; DEL succeeds."""
    network = site.network()
    worker = node(start=False, wired=False)
    disk = worker.directory / "disk"
    disk.mkdir()
    host.call(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk])
    try:
        worker.store = disk / "ipam.sqlite"
        worker.start()
        kept = space.pod("kept", element(network))
        address = worker.ask("ADD", network, kept).ips
        ballast = disk / "ballast"
        fill(ballast)
        pods = [space.pod(f"pod-{number}", element(network)) for number in range(40)]
        answers = [worker.ask("ADD", network, pod) for pod in pods]
        assert {answer.exit for answer in answers} <= {0, 1}
        refused = [pod for pod, answer in zip(pods, answers, strict=True) if answer.exit]
        assert refused, "the disk was not full"
        assert {answer.code for answer in answers if answer.exit} == {5}
        worker.kill()
        worker.start()
        assert worker.ask("ADD", network, kept).ips == address
        ballast.unlink()
        assert worker.ask("ADD", network, refused[0]).exit == 0
        for pod in (kept, *pods):
            assert worker.ask("DEL", network, pod).exit == 0
        freed(site, network)
    finally:
        worker.stop()
        host.call(["umount", disk])


def test_a_reboot(site: Site, space: Space, node: NodeMaker) -> None:
    """Every sandbox of the boot before is dead: ephemeral addresses are free again, those of claims are not."""
    network = site.network()
    worker = node(wired=False)
    space.claim("vm", network)
    claimed, plain = space.pod("vm", element(network, "vm")), space.pod("plain", element(network))
    address = worker.ask("ADD", network, claimed).ips
    assert worker.ask("ADD", network, plain).exit == 0
    worker.kill()
    worker.reboot()
    worker.start()
    space.remove_pod(plain)
    freed(site, network, left=1)
    assert worker.ask("ADD", network, claimed).ips == address


def test_a_node_that_never_comes_back(site: Site, space: Space, node: NodeMaker) -> None:
    """Its disk is lost with it: another node serves its claims, and frees those that it took over."""
    network = site.network()
    first, second = node(wired=False), node(wired=False)
    given = {}
    for name in ("moves", "stays"):
        space.claim(name, network)
        pod = space.pod(name, element(network, name))
        given[name] = first.ask("ADD", network, pod).ips
        space.remove_pod(pod)
    first.kill()
    shutil.rmtree(first.directory)
    moved = space.pod("moved", element(network, "moves"))
    assert second.ask("ADD", network, moved).ips == given["moves"]
    assert second.ask("DEL", network, moved).exit == 0
    for name in ("moves", "stays"):
        space.admin.delete(space.claim_path(name))
    freed(site, network, left=1)  # nobody knows yet that the node does not come back


def test_the_record_is_on_the_disk_before_the_status(site: Site, space: Space, node: NodeMaker) -> None:
    """A power cut after the report finds the record: it was flushed while the claim had no address yet."""
    host.ensure_packages({"strace": "strace"})
    network = site.network()
    worker = node(start=False, wired=False)
    trace = worker.directory / "trace"
    worker.wrapper = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(trace)]
    worker.start()
    space.claim("vm", network)
    pod = space.pod("vm", element(network, "vm"))
    site.proxy.rule("hold", method="POST", path="/leases", times=1)
    site.proxy.rule("hold", method="PATCH", path="/ipamclaims/", times=1)

    def flushed() -> int:
        return trace.read_text().count("sync(")

    since = len(site.proxy.requests())

    async def watched() -> tuple[int, int]:
        adding = asyncio.ensure_future(worker.asked("ADD", network, pod))
        counts = []
        for method in ("POST", "PATCH"):
            look = functools.partial(site.proxy.requests, method, "/leases|/ipamclaims/", since)
            await asyncio.to_thread(eventually, look, f"the held {method}", timeout=PATIENCE)
            counts.append(flushed())
            await asyncio.to_thread(site.proxy.release)
        assert (await adding).ips == space.ips("vm")
        return counts[0], counts[1]

    reserved, reported = asyncio.run(watched())
    assert reported > reserved


async def answered_before_the_cut(worker: IpamNode, network: Network, pods: list[Pod], count: int) -> dict[str, str]:
    """Add everything at once, and kill the service as soon as *count* pods have an address; return these."""
    answered: dict[str, str] = {}

    async def add(pod: Pod) -> None:
        with contextlib.suppress(OSError):
            answer = await worker.asked("ADD", network, pod)
            if answer.document and not answer.exit:
                (answered[pod.name],) = answer.ips
                if len(answered) == count:
                    os.kill(power_cut.traced(worker.pid), signal.SIGKILL)

    await asyncio.gather(*map(add, pods))
    return answered


def test_a_power_cut(site: Site, space: Space, node: NodeMaker) -> None:
    """What was answered is in the store, though only synced writes are left of it; nothing is given twice."""
    network = site.network("10.67.32.0/24")
    worker = node(start=False, wired=False)
    trace = worker.directory / "trace"
    worker.wrapper = power_cut.tracer(trace)
    worker.start()
    for number in range(15):
        space.claim(f"vm-{number}", network)
    pods = [space.pod(f"vm-{number}", element(network, f"vm-{number}")) for number in range(15)]
    pods += [space.pod(f"plain-{number}", element(network)) for number in range(15)]
    answered = asyncio.run(answered_before_the_cut(worker, network, pods, 10))
    worker.wait_end()
    power_cut.restore(trace, worker.store)
    with contextlib.closing(sqlite3.connect(worker.store)) as store:
        kept = {json.loads(key)[0] for (key,) in store.execute("SELECT key FROM records WHERE kind = 'attachment'")}
    assert len(answered) >= 10
    assert {pod.sandbox for pod in pods if pod.name in answered} <= kept
    worker.wrapper = []
    worker.start()
    after = {pod.name: worker.ask("ADD", network, pod).ips[0] for pod in pods}
    assert answered.items() <= after.items()
    assert len(set(after.values())) == len(pods)
    assert [space.ips(f"vm-{number}") for number in range(15)] == [[after[f"vm-{number}"]] for number in range(15)]
    for pod in pods:
        worker.ask("DEL", network, pod)
        space.remove_pod(pod)
    for number in range(15):
        space.admin.delete(space.claim_path(f"vm-{number}"))
    freed(site, network)


def test_an_old_copy_of_the_store(site: Site, space: Space, node: NodeMaker) -> None:
    """A restored backup knows what is no longer true: the API is right, and nobody's address is taken."""
    network = site.network("10.68.0.0/29")
    worker, other = node(wired=False), node(wired=False)
    space.claim("old", network)
    pod = space.pod("old", element(network, "old"))
    assert worker.ask("ADD", network, pod).exit == 0
    worker.stop()
    backup = worker.directory / "backup"
    shutil.copy(worker.store, backup)
    worker.start()
    worker.ask("DEL", network, pod)
    space.remove_pod(pod)
    space.admin.delete(space.claim_path("old"))
    freed(site, network)
    given = [other.ask("ADD", network, space.pod(f"p-{n}", element(network))).ips[0] for n in range(5)]
    worker.kill()
    _gone(worker.store)
    shutil.copy(backup, worker.store)
    worker.start()
    assert len(site.leases(network)) == 5
    answer = worker.ask("ADD", network, space.pod("late", element(network)))
    assert answer.code == 11 or answer.ips[0] not in given
    assert worker_is_sound(worker)


def worker_is_sound(worker: IpamNode) -> bool:
    """Return whether a service still runs and its journal has no traceback."""
    return worker.runs and "Traceback" not in worker.log.read_text()
