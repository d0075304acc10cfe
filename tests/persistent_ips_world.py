"""A cluster in memory with several nodes: every verb runs step by step, in any order, and any step may fail.

The nodes run the product's own verbs (core/persistent_ips). The world carries out their effects, kills nodes between
two of them, loses stores, delays watches, and compares after each step what pods were given with what is promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.persistent_ips import claim as claims
from nodenet.core.persistent_ips import lease as leases
from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips import release as releases
from nodenet.core.persistent_ips import repair
from nodenet.core.persistent_ips import repair as settle
from nodenet.core.persistent_ips.add import add
from nodenet.core.persistent_ips.book import Book, Change, Drop, Put, place_of, record_of, row_of
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.effects import (
    Announce,
    AwaitClaim,
    CreateLease,
    DeleteLease,
    Effect,
    Here,
    Hold,
    ListLeases,
    MoveLease,
    ReadClaim,
    ReadDefinition,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    Sync,
    WriteStatus,
)
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import ApiAway, Conflict, NotFound, PodName
from nodenet.core.persistent_ips.network import Network, parse
from nodenet.core.persistent_ips.release import (
    detach,
    is_gone,
    pod_is_gone,
    release,
    release_pending,
    suspects,
    take_over,
    unnamed,
)
from nodenet.core.persistent_ips.reserve import Asked

NAMESPACE = "vms"
YEAR = 365 * 86400.0
Pick = Callable[[int], int]
"""Choose a number below the given one."""


def network(name: str = "blue", **changes: Any) -> Network:
    configuration = {"name": name, "ipam": {}, "subnets": "192.0.2.0/29", "allowPersistentIPs": True, **changes}
    return parse(configuration)


class Broken(AssertionError):
    """A promise was broken."""


class Api:
    """The API server: pods, claims and Leases with versions and UIDs, and the events of the claims."""

    def __init__(self) -> None:
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.claims: dict[tuple[str, str], Claim] = {}
        self.leases: dict[str, Lease] = {}
        self.definitions: dict[tuple[str, str], str] = {}
        """The configuration of each NetworkAttachmentDefinition."""
        self.events: list[tuple[str, Claim]] = []
        self.requests: list[str] = []
        self.workloads: dict[str, str] = {}
        """UID of each pod that ever was and references a claim → its machine; another pod is a workload of its own."""
        self._number = 0

    def number(self) -> str:
        self._number += 1
        return str(self._number)

    def put_pod(self, name: str, claim: str | None = None, machine: str = "", ifname: str = "net1") -> PodName:
        element = {"name": "blue", "interface": ifname} | ({"ipam-claim-reference": claim} if claim else {})
        metadata: dict[str, Any] = {"namespace": NAMESPACE, "name": name, "uid": f"pod-{self.number()}"}
        metadata["annotations"] = {pods.NETWORKS: __import__("json").dumps([element])}
        if machine:
            metadata["labels"] = {"vm.kubevirt.io/name": machine, "kubevirt.io/created-by": f"instance of {machine}"}
        self.pods[NAMESPACE, name] = {"metadata": metadata, "status": {"phase": "Running"}}
        self.definitions.setdefault((NAMESPACE, "blue"), "{}")
        if claim:
            self.workloads[metadata["uid"]] = machine or metadata["uid"]
        return PodName(NAMESPACE, name, metadata["uid"])

    def is_running(self, pod: PodName) -> bool:
        found = self.pods.get((pod.namespace, pod.name))
        return found is None or found["status"]["phase"] == "Running"

    def put_claim(self, name: str, network: str = "blue", **changes: Any) -> Claim:
        made = Claim(NAMESPACE, name, f"claim-{self.number()}", self.number(), network, False, (), "")
        made = replace(made, **changes)
        self.claims[made.key] = made
        self.events.append(("ADDED", made))
        return made

    def change_claim(self, claim: Claim, **changes: Any) -> Claim:
        made = replace(claim, version=self.number(), **changes)
        self.claims[made.key] = made
        self.events.append(("MODIFIED", made))
        return made

    def delete_claim(self, key: tuple[str, str]) -> None:
        self.events.append(("DELETED", self.claims.pop(key)))

    def do(self, effect: Effect) -> Any:  # noqa: C901, PLR0911, PLR0912
        """Carry out one request. Raises as the real one does."""
        self.requests.append(type(effect).__name__)
        match effect:
            case ReadPod(namespace, name):
                if (namespace, name) not in self.pods:
                    raise NotFound(f"pod {namespace}/{name}")
                return pods.parse(self.pods[namespace, name])
            case ReadDefinition(namespace, name):
                if (namespace, name) not in self.definitions:
                    raise NotFound(f"definition {namespace}/{name}")
                return self.definitions[namespace, name]
            case ReadClaim(namespace, name):
                if (namespace, name) not in self.claims:
                    raise NotFound(f"claim {namespace}/{name}")
                return self.claims[namespace, name]
            case AwaitClaim(namespace, name):
                return self.claims.get((namespace, name))
            case CreateLease(lease):
                if lease.name in self.leases:
                    raise Conflict(lease.name)
                found = leases.parse(_stored(lease, self.number(), self.number()))
                self.leases[lease.name] = found
                return found
            case ReadLease(name):
                return self._lease(name)
            case ListLeases(selector):
                return tuple(one for one in self.leases.values() if _selected(one, selector))
            case MoveLease(lease):
                old = self._lease(lease.name)
                if (old.owner.uid, old.version) != (lease.owner.uid, lease.version):
                    raise Conflict(lease.name)
                self.leases[lease.name] = replace(lease, uid=old.uid, version=self.number())
                return self.leases[lease.name]
            case DeleteLease(name, uid, version):
                old = self._lease(name)
                if old.uid != uid or old.version != version:
                    raise Conflict(name)
                del self.leases[name]
                return None
            case WriteStatus(claim, patch):
                return self._patch(claim, patch)
        raise AssertionError(effect)

    def _lease(self, name: str) -> Lease:
        if name not in self.leases:
            raise NotFound(name)
        return self.leases[name]

    def _patch(self, claim: Claim, patch: Mapping[str, Any]) -> Claim:
        old = self.claims.get(claim.key)
        if old is None:
            raise NotFound(str(claim.key))
        if (old.uid, old.version) != (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"]):
            raise Conflict(str(claim.key))
        status = patch["status"]
        changes: dict[str, Any] = {}
        if "ips" in status:
            if old.ips and tuple(status["ips"]) != old.ips:
                raise Broken(f"{old} got other addresses: {status}")
            changes["ips"] = tuple(status["ips"])
        if "ownerPod" in status:
            changes["owner_pod"] = (status["ownerPod"] or {}).get("name", "")
        if "conditions" in status:
            changes["conditions"] = tuple((one["type"], one["status"], one["reason"]) for one in status["conditions"])
        return self.change_claim(old, **changes)


def _stored(lease: Lease, uid: str, version: str) -> dict[str, Any]:
    made = leases.document(lease, 0.0)
    made["metadata"] |= {"uid": f"lease-{uid}", "resourceVersion": version}
    return made


def _selected(lease: Lease, selector: str) -> bool:
    return selector in (
        leases.network_selector(lease.network),
        leases.node_selector(lease.node),
        leases.all_selector(),
    )


@dataclass
class Run:
    """A verb on its way."""

    steps: Steps[Any]
    effect: Effect | None
    what: str
    done: Callable[[Any], None]
    key: tuple[str, str] | None = None
    outcome: Any = None
    """What it returned, or its error."""
    holds: set[tuple[str, ...]] = field(default_factory=set)


class Node:
    """A service: its store, its book, and what it does at the moment."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.world = world
        self.store: dict[tuple[str, str], str] = {}
        self.boots = 0
        self.seen_events = 0
        self.start()

    @property
    def boot_id(self) -> str:
        return f"{self.name}-{self.boots}"

    def start(self) -> None:
        """Begin with what the store has, as the process does."""
        found = (record_of((*place, text)) for place, text in self.store.items())
        self.book = Book(record for record in found if record is not None)
        self.lazy: list[Change] = []
        self.runs: list[Run] = []
        self.listed = False

    def here(self) -> Here:
        world = self.world
        return Here(self.book, self.name, self.boot_id, world.wall, uptime=world.uptime)

    def busy(self, key: tuple[str, str]) -> bool:
        return any(run.key == key for run in self.runs)

    def begin(
        self,
        what: str,
        steps: Steps[Any],
        done: Callable[[Any], None] = lambda _: None,
        key: tuple[str, str] | None = None,
    ) -> Run:
        run = Run(steps, None, what, done, key)
        self.runs.append(run)
        self._advance(run, lambda: next(steps))
        return run

    def _advance(self, run: Run, move: Callable[[], Effect]) -> None:
        try:
            run.effect = move()
        except StopIteration as stop:
            self.runs.remove(run)
            run.outcome = stop.value
            run.done(stop.value)
        except (NodenetError, CniError) as error:
            self.runs.remove(run)
            run.outcome = error

    def ready(self, run: Run) -> bool:
        """Return whether *run* can go on: the key that it wants is free."""
        effect = run.effect
        if not isinstance(effect, Hold):
            return True
        return not any(effect.key in other.holds for other in self.runs if other is not run)

    def step(self, run: Run, fault: str = "") -> None:
        """Carry out the effect of *run*: as asked, or with a fault before or after it."""
        effect = run.effect
        assert effect is not None
        try:
            answer = self._do(run, effect, fault)
        except NodenetError as error:
            self._advance(run, lambda error=error: run.steps.throw(error))  # type: ignore[misc]
        else:
            self._advance(run, lambda: run.steps.send(answer))

    def _do(self, run: Run, effect: Effect, fault: str) -> Any:
        match effect:
            case Hold(key):
                run.holds.add(key)
                return None
            case Announce():
                return None
            case Sync():
                if fault == "disk full":
                    raise PublishFailed("No space left on device")
                self.flush()
                return None
            case Save(changes, wait):
                if fault == "disk full" and wait:
                    raise PublishFailed("No space left on device")
                if wait:
                    self.flush()
                    self._write(changes)
                else:
                    self.lazy += changes
                self.book.take(changes)
                return None
        if fault == "away before":
            raise ApiAway("the API does not answer")
        answer = self.world.api.do(effect)
        if fault == "away after":
            raise ApiAway("the API did not answer in time")
        return answer

    def flush(self) -> None:
        """Write what may be late."""
        self._write(self.lazy)
        self.lazy = []

    def _write(self, changes: Any) -> None:
        for change in changes:
            place = place_of(change.record)
            if isinstance(change, Put):
                self.store[place] = row_of(change.record)[2]
            else:
                assert isinstance(change, Drop)
                self.store.pop(place, None)

    def kill(self) -> None:
        """Die at this moment; the next process begins."""
        for run in self.runs:
            run.steps.close()
        self.start()

    def lose_store(self) -> None:
        self.store = {}
        self.kill()

    def watch(self, *, relist: bool = False) -> None:
        """Hear the events of the claims up to now."""
        known = self.book.claims
        if relist or not self.listed:
            current = self.world.api.claims
            for claim in list(known.all()):
                if claim.key not in current:
                    known.remove(claim)
            for claim in current.values():
                known.put(claim)
            known.complete = self.listed = True
        else:
            for kind, claim in self.world.api.events[self.seen_events :]:
                if kind == "DELETED":
                    known.remove(claim)
                else:
                    known.put(claim)
        self.seen_events = len(self.world.api.events)

    def chores(self) -> Iterator[tuple[str, Steps[Any]]]:
        """Yield what there is to do beside the verbs, as the service finds it."""
        here, book = self.here(), self.book
        yield from ((f"dead {one.key}", detach(here, one)) for one in repair.dead_sandboxes(book, self.boot_id))
        yield from ((f"pending {owner}", release_pending(here, owner)) for owner in repair.pending_owners(book))
        yield from ((f"idle {owner}", release(here, owner)) for owner in repair.idle_pods(book))
        for owner in repair.absent_claims(book):
            if not book.attachments_of(owner):
                yield f"gone {owner}", _release_if_gone(here, owner)
        for attachment in book.attachments():
            if attachment.pod is not None and self.world.is_idle(self, attachment.key):
                yield f"reap {attachment.key}", _reap(here, attachment)
        for owner in book.claim_owners():
            claim = book.claims.get(owner.namespace, owner.name)
            if claim is not None and claim.uid == owner.uid:
                yield f"settle {owner}", settle.settle(here, claim)
        yield from ((f"take over {one.key}", take_over(here, one)) for one in book.attachments())
        yield "repair", self.repair()
        yield "sweep", self._sweep()

    def repair(self) -> Steps[None]:
        here = self.here()
        found = yield ListLeases(leases.node_selector(self.name))
        changed = repair.changed_leases(self.book, found, self.boot_id)
        for lease in (*repair.unknown_leases(self.book, found), *changed):
            self.begin(f"adopt {lease.name}", repair.adopt(here, lease))
        for row in repair.lost_leases(self.book, found):
            self.begin(f"restore {row.address}", repair.restore(here, row))
        for one in unnamed(self.book, found):
            self.begin(f"take over {one.key}", take_over(here, one))

    def _sweep(self) -> Steps[None]:
        here = self.here()
        found = yield ListLeases(leases.all_selector())
        for lease in suspects(here, found):
            self.begin(f"sweep {lease.name}", releases.sweep(here, lease))


def _release_if_gone(here: Here, owner: Any) -> Steps[None]:
    if (yield from is_gone(owner)):
        yield from release(here, owner)


def _reap(here: Here, attachment: Any) -> Steps[None]:
    if (yield from pod_is_gone(attachment.pod)):
        yield from detach(here, attachment)


class World:
    """All of it, and what pods were given."""

    def __init__(self, nodes: int = 3, made: Network | None = None) -> None:
        self.api = Api()
        self.network = made or network()
        self.nodes = [Node(f"node-{number}", self) for number in range(nodes)]
        self.live: dict[tuple[str, str, str], tuple[str, tuple[Any, ...]]] = {}
        """(node, container, interface) → (what keeps the addresses, the addresses)."""
        self.sandboxes: dict[tuple[str, str, str], PodName | None] = {}
        """What runtimes have begun, and not yet ended with DEL."""
        self.foreign: set[str] = set()
        """Claims whose status another program wrote."""
        self._containers = 0
        self.uptime = 0.0
        self.wall = 1.8e9

    def is_idle(self, node: Node, key: tuple[str, str]) -> bool:
        return (node.name, *key) not in self.sandboxes

    def container(self) -> str:
        self._containers += 1
        return f"container-{self._containers}"

    def add(self, node: Node, pod: PodName | None, container: str = "", ifname: str = "net1") -> Run:
        """Begin an ADD; the sandbox counts as live when it has its answer."""
        key = (container or self.container(), ifname)
        asked = Asked(key[0], ifname, f"/run/netns/{key[0]}", pod, self.network)
        self.sandboxes[(node.name, *key)] = pod

        def answered(addresses: tuple[Any, ...]) -> None:
            attachment = node.book.attachment(key)
            if attachment is None or attachment.addresses != addresses:
                raise Broken(f"the answer {addresses} of {key} is not recorded")
            self.live[(node.name, *key)] = attachment.owner.uid, addresses

        return node.begin(f"ADD {key} of {pod}", add(node.here(), asked), answered, key=key)

    def delete(self, node: Node, key: tuple[str, str]) -> None:
        """Begin a DEL; the interface has no address from now on."""
        self.live.pop((node.name, *key), None)
        self.sandboxes.pop((node.name, *key), None)
        attachment = node.book.attachment(key)
        if attachment is not None:
            node.begin(f"DEL {key}", detach(node.here(), attachment), key=key)

    def reboot(self, node: Node) -> None:
        node.boots += 1
        node.flush()
        for key in [key for key in self.live if key[0] == node.name]:
            del self.live[key]
        for key in [key for key in self.sandboxes if key[0] == node.name]:
            del self.sandboxes[key]
        node.kill()

    def check(self) -> None:
        """Raise Broken when a promise does not hold."""
        self._check_workloads()
        given: dict[Any, str] = {}
        for key, (owner, addresses) in self.live.items():
            for address in addresses:
                if given.setdefault(address, owner) != owner:
                    raise Broken(f"{address} of {key} was given to {owner} and {given[address]}")
                held = self.api.leases.get(leases.name_of(self.network.name, address))
                if held is None or held.owner.uid != owner:
                    raise Broken(f"{address} of {key}: its Lease is {held}, its owner {owner}")
        for claim in [one for one in self.api.claims.values() if one.name not in self.foreign]:
            for text in claim.ips:
                address = next(iter(claims.known_addresses(replace(claim, ips=(text,)))))
                held = self.api.leases.get(leases.name_of(claim.network, address))
                if held is None or held.owner.uid != claim.uid:
                    raise Broken(f"{claim.name} has {text}; the Lease is {held}")

    def _check_workloads(self) -> None:
        """One address never answers for two workloads, but where a person has changed the status in between."""
        found: dict[Any, str] = {}
        for key, (_, addresses) in self.live.items():
            pod = self.sandboxes.get(key)
            workload = self.api.workloads.get(pod.uid) if pod is not None and self.api.is_running(pod) else None
            if workload is None or pod is None or pod.name.rpartition("-")[0] in self.foreign:
                continue
            for address in addresses:
                if found.setdefault(address, workload) != workload:
                    raise Broken(f"{pod} of workload {workload} has {address}, which {found[address]} has")

    def is_named(self, key: tuple[str, str, str]) -> bool:
        """Return whether the Leases of a live sandbox name it."""
        found = [self.api.leases[leases.name_of(self.network.name, one)] for one in self.live[key][1]]
        return all(key in [(one.node, *one.key) for one in lease.sandboxes] for lease in found)

    def is_recorded(self, lease: Lease) -> bool:
        """Return whether a node knows of *lease*, and so does each that has a sandbox with its address."""
        knowing = {
            node.name for node in self.nodes if any(row.lease_uid == lease.uid for row in node.book.reservations())
        }
        using = {key[0] for key, (_, addresses) in self.live.items() if lease.address in addresses}
        return bool(knowing) and using <= knowing

    def finish(self, node: Node, most: int = 400, *, checked: bool = True) -> None:
        """Let the runs of *node* end, without faults."""
        for _ in range(most):
            run = next((one for one in node.runs if node.ready(one)), None)
            if run is None:
                assert not node.runs, [one.what for one in node.runs]
                return
            node.step(run)
            if checked:
                self.check()
        raise Broken(f"{[run.what for run in node.runs]} of {node.name} do not end")

    def do_chores(self, node: Node) -> None:
        node.watch()
        for what, steps in list(node.chores()):
            node.begin(what, steps)
            self.finish(node)

    def end(self) -> None:
        """Delete everything, let all nodes do their chores, and see that nothing is left."""
        for node in self.nodes:
            self.finish(node)
        for node in self.nodes:
            for attachment in list(node.book.attachments()):
                self.delete(node, attachment.key)
                self.finish(node)
        self.live.clear()
        self.sandboxes.clear()
        self.api.pods.clear()
        for key in list(self.api.claims):
            self.api.delete_claim(key)
        for _ in range(3):
            self.uptime += 1000
            for node in self.nodes:
                self.do_chores(node)
                for attachment in [one for one in node.book.attachments() if one.pod is None]:
                    self.delete(node, attachment.key)  # the GC of its runtime: without Kubernetes nothing else says so
                    self.finish(node)
        left = [*self.api.leases, *(row for node in self.nodes for row in node.book.reservations())]
        left += [one for node in self.nodes for one in node.book.attachments()]
        if left:
            raise Broken(f"left: {left}")


class Play:
    """Chooses what happens next: a number picks one of everything that can."""

    MACHINES = 4
    FAULTS = ("", "", "", "", "away before", "away after", "disk full")

    def __init__(self, pick: Pick, world: World | None = None) -> None:
        self.pick = pick
        self.world = world or World()
        self.log: list[str] = []
        self._made = 0
        self._copies: dict[str, dict[tuple[str, str], str]] = {}

    def of(self, things: Any) -> Any:
        listed = list(things)
        return listed[self.pick(len(listed))]

    def step(self) -> None:
        """Do one thing, then compare with the promises."""
        runs = [(node, run) for node in self.world.nodes for run in node.runs if node.ready(run)]
        kind = self.pick(24)
        if runs and kind < 12:
            node, run = self.of(runs)
            fault = self.of(self.FAULTS)
            self.log.append(f"{node.name}: {run.what}: {type(run.effect).__name__} {fault}")
            node.step(run, fault)
        elif kind < 20:
            starts = (self.machine, self.machine, self.plain, self.stateful, self.container, self.thief)
            ends = (self.end_pod, self.end_pod, self.delete_machine, self.force_delete)
            self.of((*starts, *ends, self.again, self.calm, self.calm))()
        else:
            self.world.uptime += self.pick(100)
            either = self.lose_leases if self.pick(4) == 0 else self.trouble
            self.of((self.kill, self.watch, self.watch, self.chores, self.chores, either, self.person))()
        self.world.check()

    def calm(self) -> None:
        """Let everything that was begun end, and a node do its chores."""
        for node in self.world.nodes:
            self.world.finish(node)
        node = self.of(self.world.nodes)
        self.log.append(f"calm, and chores of {node.name}")
        self.world.do_chores(node)

    def machine(self) -> None:
        """Start, restart or migrate a virtual machine: another pod with its claim."""
        name = f"vm-{self.pick(self.MACHINES)}"
        if (NAMESPACE, name) not in self.world.api.claims:
            self.world.api.put_claim(name)
        self._made += 1
        pod = self.world.api.put_pod(f"{name}-{self._made}", name, machine=name)
        node = self.of(self.world.nodes)
        self.log.append(f"{node.name}: pod {pod.name}")
        self.world.add(node, pod)

    def thief(self) -> None:
        """Start a pod of another workload that references the claim of a machine: it has to wait for the machine.

        Where a node has had a claim before, its Lease names a second sandbox of it only after the ADD was answered.
        """
        claims = []
        for (_, name), found in self.world.api.claims.items():
            live = [key for key, (owner, _) in self.world.live.items() if owner == found.uid]
            if all(map(self.world.is_named, live)):
                claims.append(name)
        if not claims:
            return
        claim = self.of(claims)
        self._made += 1
        machine = f"other-{self._made}" if self.pick(2) else ""
        pod = self.world.api.put_pod(f"{claim}-{self._made}", claim, machine)
        node = self.of(self.world.nodes)
        self.log.append(f"{node.name}: pod {pod.name} of another workload")
        self.world.add(node, pod)

    def plain(self) -> None:
        """Start a pod without a claim."""
        self._made += 1
        pod = self.world.api.put_pod(f"plain-{self._made}")
        node = self.of(self.world.nodes)
        self.log.append(f"{node.name}: pod {pod.name}")
        self.world.add(node, pod)

    def stateful(self) -> None:
        """Start the pod of a StatefulSet again, on any node: it has its name again, and another UID."""
        claim = f"set-{self.pick(self.MACHINES)}"
        name = f"{claim}-0"
        if name in {pod.name for pod in self.world.sandboxes.values() if pod is not None}:
            return
        if (NAMESPACE, claim) not in self.world.api.claims:
            self.world.api.put_claim(claim)
        pod = self.world.api.put_pod(name, claim)
        node = self.of(self.world.nodes)
        self.log.append(f"{node.name}: pod {name} again")
        self.world.add(node, pod)

    def container(self) -> None:
        """Start or end a container without a pod, whose id another node may have as well."""
        node, container = self.of(self.world.nodes), f"tool-{self.pick(2)}"
        if node.busy((container, "net1")):
            return
        self.log.append(f"{node.name}: {container}")
        if (node.name, container, "net1") in self.world.sandboxes:
            self.world.delete(node, (container, "net1"))
        else:
            self.world.add(node, None, container)

    def sandbox(self) -> tuple[Node, tuple[str, str], PodName | None] | None:
        if not self.world.sandboxes:
            return None
        name, container, ifname = self.of(self.world.sandboxes)
        node = next(one for one in self.world.nodes if one.name == name)
        return node, (container, ifname), self.world.sandboxes[name, container, ifname]

    def again(self) -> None:
        """The runtime asks again: with the same sandbox, or after a DEL with another one."""
        found = self.sandbox()
        if found is None or found[0].busy(found[1]):
            return
        node, key, pod = found
        other = self.pick(2) == 1
        self.log.append(f"{node.name}: again {key} {other}")
        if other and pod is not None:
            self.world.delete(node, key)
            self.world.add(node, pod)
        else:
            self.world.add(node, pod, key[0])

    def end_pod(self) -> None:
        found = self.sandbox()
        if found is None or found[0].busy(found[1]):
            return
        node, key, pod = found
        self.log.append(f"{node.name}: end {pod}")
        self.world.delete(node, key)
        if pod is not None and pod not in self.world.sandboxes.values():
            self.world.api.pods.pop((pod.namespace, pod.name), None)

    def delete_machine(self) -> None:
        """Delete a claim that no pod has, as its finalizer ensures."""
        used = {pod.name.rpartition("-")[0] for pod in self.world.sandboxes.values() if pod is not None}
        free = [key for key in self.world.api.claims if key[1] not in used]
        if free:
            key = self.of(free)
            self.log.append(f"delete claim {key[1]}")
            for pod in [one for one in self.world.api.pods if one[1].rpartition("-")[0] == key[1]]:
                del self.world.api.pods[pod]
            self.world.api.delete_claim(key)

    def force_delete(self) -> None:
        """Delete a claim by hand, without its finalizer, while its pods run, and its Leases name them.

        Where a node has had a claim before, its Lease names the sandbox only after the ADD was answered.
        """
        found = []
        for claim in self.world.api.claims.values():
            live = {key for key, (owner, _) in self.world.live.items() if owner == claim.uid}
            if live and all(map(self.world.is_named, live)) and not any(node.runs for node in self.world.nodes):
                found.append(claim.key)
        if found:
            key = self.of(found)
            self.log.append(f"delete claim {key[1]} by force")
            self.world.api.delete_claim(key)

    def person(self) -> None:
        """Edit or clear the status of a claim, or bring an older copy of a store back."""
        changed = [claim for claim in self.world.api.claims.values() if claim.ips]
        what = self.pick(3)
        if what == 2:
            self.restore()
        elif changed:
            claim = self.of(changed)
            used = {one.address for one in self.world.api.leases.values()}
            used |= {one for other in changed for one in claims.known_addresses(other)}
            every = [map(pool.interface, pool.candidates("")) for pool in self.world.network.pools]
            free = [[one for one in part if one not in used] for part in every]
            made = tuple(str(self.of(part)) for part in free) if what and all(free) else ()
            self.log.append(f"{claim.name}: {claim.ips} is changed to {made}")
            self.world.foreign.add(claim.name)
            self.world.api.change_claim(claim, ips=made)

    def restore(self) -> None:
        """Keep a copy of a store, or bring it back, where nothing is known of this node that only its store has."""
        node = self.of(self.world.nodes)
        only = any(pod is None for (name, *_), pod in self.world.sandboxes.items() if name == node.name)
        if only:
            return
        back = node.name in self._copies and self.pick(2) == 1
        self.log.append(f"{node.name}: {'the copy of the store is back' if back else 'the store is copied'}")
        if back:
            node.store = dict(self._copies[node.name])
            node.kill()
        else:
            node.flush()
            self._copies[node.name] = dict(node.store)

    def lose_leases(self) -> None:
        """Let Leases vanish, as with a backup of the API's database; each node hears of it before new pods start."""
        for node in self.world.nodes:
            self.world.finish(node)
        lost = [name for name, one in self.world.api.leases.items() if self.world.is_recorded(one) and self.pick(2)]
        self.log.append(f"lost: {lost}")
        for name in lost:
            del self.world.api.leases[name]
        for node in self.world.nodes:
            self.log.append(f"{node.name} makes its Leases again")
            node.begin("repair", node.repair())
        for node in self.world.nodes:
            self.world.finish(node, checked=False)

    def kill(self) -> None:
        node = self.of(self.world.nodes)
        self.log.append(f"kill {node.name}")
        if self.pick(4) == 0:
            node.flush()
        node.kill()

    def watch(self) -> None:
        node = self.of(self.world.nodes)
        self.log.append(f"{node.name} watches")
        node.watch(relist=self.pick(3) == 0)

    def chores(self) -> None:
        node = self.of(self.world.nodes)
        found = list(node.chores())
        what, steps = self.of(found)
        self.log.append(f"{node.name}: {what}")
        node.begin(what, steps)

    def trouble(self) -> None:
        node = self.of(self.world.nodes)
        what = self.pick(4)
        self.log.append(f"{node.name}: {('reboot', 'store lost', 'the clock is set', 'nothing')[what]}")
        if what == 0:
            self.world.reboot(node)
        elif what == 1:
            node.lose_store()
        elif what == 2:
            self.world.wall += (self.pick(3) - 1) * YEAR
