"""How does nodenet-ipam take over the addresses that whereabouts has given, without a change of any of them?

For each address a Lease is made, and the status of its claim is written. Then the definitions get the configuration of
nodenet-ipam. The pools are read once more: whereabouts may have given an address in the meantime.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import NodenetError, UsageInvalid
from nodenet.core.persistent_ips import claim as claims
from nodenet.core.persistent_ips import lease as leases
from nodenet.core.persistent_ips import whereabouts
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import Conflict, NotFound
from nodenet.core.persistent_ips.whereabouts import Definition, Given, NotTaken
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam

HEADINGS = ("NETWORK", "ADDRESS", "POD", "INTERFACE", "NODE", "CLAIM")
ROUNDS, PAUSE = 3, 2.0
"""How often, and after how many seconds, the pools are read again at most."""
NOTHING = "No NetworkAttachmentDefinition asks whereabouts for addresses"
LEFT, TAKEN = 2, 0


def run(arguments: argparse.Namespace) -> int:
    """Take over what whereabouts has given; return the exit code. Raises NodenetError."""
    kubeconfig = arguments.kubeconfig or os.environ.get("KUBECONFIG", "")
    if not kubeconfig:
        raise UsageInvalid("import needs the kubeconfig of an administrator", remedy="Add --kubeconfig FILE")
    return asyncio.run(_run(kubeconfig, arguments.lease_namespace, dry_run=arguments.dry_run))


async def _run(kubeconfig: str, namespace: str, *, dry_run: bool) -> int:
    api = KubernetesIpam(kubeconfig, namespace, lambda _: None)
    try:
        work = Import(api, dry_run=dry_run)
        await work.run()
    finally:
        await api.close()
    if not work.definitions and not work.problems:
        print(NOTHING)
        return TAKEN
    table = Table(HEADINGS)
    for one in sorted(work.taken.values(), key=lambda one: (one.network, int(one.address.ip))):
        claim = f"{one.owner.namespace}/{one.owner.name}" if one.owner.kind == "claim" else "-"
        table.add((one.network, str(one.address), str(one.pod), one.ifname, one.node, claim))
    if work.taken:
        print(table.render(coloured=has_colours()))
    for definition in work.definitions:
        if dry_run:
            print(f"\nThe configuration of {definition} becomes:\n{definition.configuration}")
    print(work.summary)
    for problem in sorted(work.problems):
        note(f"nodenetctl: {printable(problem)}")
    return LEFT if work.problems else TAKEN


@dataclass
class Import:
    """One import, and what it found."""

    api: KubernetesIpam
    dry_run: bool
    definitions: list[Definition] = field(default_factory=list)
    taken: dict[str, Lease] = field(default_factory=dict)
    """The Leases by their names."""
    ended: int = 0
    """Addresses of pods that have ended."""
    problems: set[str] = field(default_factory=set)
    _nodes: dict[str, str] = field(default_factory=dict)
    """The boot id of each node that was asked for."""

    @property
    def summary(self) -> str:
        """What was done, in one line."""
        verb = "would be taken over" if self.dry_run else "are taken over"
        ended = f"; {self.ended} of pods that have ended are left" if self.ended else ""
        return f"{len(self.taken)} addresses of {len(self.definitions)} definitions {verb}{ended}"

    async def run(self) -> None:
        """Do it. Raises ApiAway, Forbidden: what was done stays, and the next run goes on."""
        await self._find()
        await self._take()
        if self.dry_run:
            return
        for definition in self.definitions:
            await self._configure(definition)
        for _ in range(ROUNDS):
            before = len(self.taken)
            await asyncio.sleep(PAUSE)
            await self._take()
            if len(self.taken) == before:
                return

    async def _find(self) -> None:
        found = []
        for document in await self.api.definitions():
            try:
                if (made := whereabouts.definition(document)) is not None:
                    found.append(made)
            except NotTaken as error:
                self.problems.add(str(error))
        shared = whereabouts.shared_pools(found)
        self.problems.update(shared.values())
        self.definitions = [one for one in found if not any(pool in shared for pool in one.pools)]

    async def _take(self) -> None:
        by_pool = {pool: one for one in self.definitions for pool in one.pools}
        listed = await self.api.claims() if any(one.network.persistent for one in self.definitions) else []
        of_space: dict[str, list[Mapping[str, Any]]] = {}
        for document in listed:
            of_space.setdefault(str(document["metadata"]["namespace"]), []).append(document)
        made: list[Lease] = []
        for pool in await self.api.whereabouts_pools() if by_pool else []:
            found, problems = whereabouts.given(pool)
            for one in found:
                if (definition := by_pool.get(one.pool)) is not None:
                    made += await self._one(one, definition, of_space.get(one.pod.namespace, []))
            if str(pool["metadata"]["name"]) in by_pool:
                self.problems.update(problems)
        for owner, same in whereabouts.addresses_of_claims(made):
            await self._report(owner.namespace, owner.name, same)

    async def _one(self, one: Given, definition: Definition, listed: list[Mapping[str, Any]]) -> list[Lease]:
        """Take one address over; return its Lease, none if it is not taken over or was before."""
        try:
            document = await self.api.pod(one.pod.namespace, one.pod.name)
            node = str(document["spec"].get("nodeName") or "")
            lease = whereabouts.lease_of(one, definition.network, document, await self._boot_id(node), listed)
        except NotFound:
            lease = None
        except NotTaken as error:
            self.problems.add(str(error))
            return []
        if lease is None:
            self.ended += 1
            return []
        if lease.name in self.taken or not (self.dry_run or await self._reserved(lease)):
            return []
        self.taken[lease.name] = lease
        return [lease]

    async def _boot_id(self, node: str) -> str:
        if node and node not in self._nodes:
            try:
                self._nodes[node] = whereabouts.boot_id_of(await self.api.node(node))
            except NotFound:
                self._nodes[node] = ""
        return self._nodes.get(node, "")

    async def _reserved(self, lease: Lease) -> bool:
        """Make *lease*; return whether its owner has it now."""
        try:
            await self.api.create_lease(leases.document(lease, time.time()))
        except Conflict:
            try:
                other = leases.parse(await self.api.lease(lease.name)).owner
            except leases.LeaseInvalid as error:
                self.problems.add(f"{lease.address.ip} of pod {lease.pod} is not taken over: {error}")
                return False
            if other.uid != lease.owner.uid:
                remedy = "delete one of them, so that it is made again with another address"
                self.problems.add(f"{lease.address.ip} of pod {lease.pod} is reserved for {other}: {remedy}")
                return False
        return True

    async def _report(self, namespace: str, name: str, same: tuple[Lease, ...]) -> None:
        """Write the addresses into the status of their claim."""
        addresses = tuple(one.address for one in same)
        try:
            claim = claims.parse(await self.api.claim(namespace, name))
            if claim.ips and {one.ip for one in claims.known_addresses(claim)} != {one.ip for one in addresses}:
                shown = ", ".join(str(one.ip) for one in addresses)
                self.problems.add(f"IPAMClaim {namespace}/{name} has {', '.join(claim.ips)}; its pod has {shown}")
            elif not claim.ips and not self.dry_run:
                pod = same[0].pod.name if same[0].pod else ""
                await self.api.patch_claim_status(
                    namespace, name, claims.allocated_patch(claim, addresses, pod, time.time())
                )
        except (NotFound, Conflict, claims.ClaimInvalid) as error:
            cause = error.cause if isinstance(error, NodenetError) else str(error)
            self.problems.add(f"IPAMClaim {namespace}/{name} does not name its addresses: {cause}. Run it again")

    async def _configure(self, definition: Definition) -> None:
        try:
            await self.api.configure(
                definition.namespace, definition.name, definition.version, definition.configuration
            )
        except (NotFound, Conflict) as error:
            self.problems.add(f"The definition {definition} is as it was: {error.cause}. Run it again")
