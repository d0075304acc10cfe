"""How does nodenet-ipam take over the addresses that whereabouts has given, without a change of any of them?

If every address can be taken over, a Lease is made for each, and the status of its claim is written. Then the
definitions get the configuration of nodenet-ipam. The pools are read for two minutes more: whereabouts may give an
address to a pod whose start had begun.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
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
TRIES, PAUSE = 3, 5.0
"""How often an object is tried that others change, and the seconds between two looks at the pools."""
NOTHING = "No NetworkAttachmentDefinition asks whereabouts for addresses"
LEFT, TAKEN = 2, 0


def run(arguments: argparse.Namespace) -> int:
    """Take over what whereabouts has given; return the exit code. Raises NodenetError."""
    kubeconfig = arguments.kubeconfig or os.environ.get("KUBECONFIG", "")
    if not kubeconfig:
        raise UsageInvalid("import needs the kubeconfig of an administrator", remedy="Add --kubeconfig FILE")
    return asyncio.run(_run(kubeconfig, arguments))


async def _run(kubeconfig: str, arguments: argparse.Namespace) -> int:
    api, dry_run = KubernetesIpam(kubeconfig, arguments.lease_namespace, lambda _: None), arguments.dry_run
    try:
        work = Import(api, dry_run, arguments.network, arguments.settle)
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
    network: str = ""
    """Only the definitions of this network; empty for all."""
    settle: float = 0.0
    """For how many seconds late addresses are looked for."""
    definitions: list[Definition] = field(default_factory=list)
    taken: dict[str, Lease] = field(default_factory=dict)
    """The Leases by their names."""
    ended: int = 0
    """Addresses of pods that have ended, as found last."""
    problems: set[str] = field(default_factory=set)
    summary: str = "Nothing is changed"
    _nodes: dict[str, str] = field(default_factory=dict)
    """The boot id of each node that was asked for."""

    async def run(self) -> None:
        """Do it: everything or nothing. Raises ApiAway, Forbidden, Expired: the next run goes on."""
        await self._find()
        found = [] if self.problems else await self._planned()
        if self.problems:
            return
        count = f"addresses of {len(self.definitions)} definitions"
        if self.dry_run:
            self.taken = {one.name: one for one in found}
            self.summary = f"{len(found)} {count} would be taken over{self._left}"
            return
        await self._take(found)
        if self.problems:
            self.summary = "No definition is changed; what was reserved stays reserved"
            return
        await self._switch()
        await self._late()
        self.summary = f"{len(self.taken)} {count} are taken over{self._left}"

    @property
    def _left(self) -> str:
        return f"; {self.ended} of pods that have ended are left" if self.ended else ""

    async def _find(self) -> None:
        for document in await self.api.definitions():
            try:
                made = whereabouts.definition(document)
            except NotTaken as error:
                if not self.network:
                    self.problems.add(str(error))
                continue
            if made is not None:
                self.definitions.append(made)
        self.problems.update(whereabouts.contradictions(self.definitions))
        if self.network:
            self.definitions = [one for one in self.definitions if one.network.name == self.network]

    async def _planned(self) -> list[Lease]:
        """Return the Leases of the addresses that pods have, less those taken over, and note what cannot be."""
        by_pool = {pool: one for one in self.definitions for pool in one.pools}
        of_space: dict[str, list[Mapping[str, Any]]] = {}
        for document in await self.api.claims() if any(one.network.persistent for one in self.definitions) else ():
            of_space.setdefault(str(document["metadata"]["namespace"]), []).append(document)
        made: list[Lease] = []
        self.ended = 0
        for pool in await self.api.whereabouts_pools() if by_pool else ():
            if (definition := by_pool.get(str(pool["metadata"]["name"]))) is None:
                continue
            found, problems = whereabouts.given(pool)
            self.problems.update(problems)
            new = [one for one in found if leases.name_of(definition.network.name, one.address) not in self.taken]
            listed = [await self._one(one, definition, of_space.get(one.pod.namespace, [])) for one in new]
            made += [lease for lease in listed if lease is not None]
        return made

    async def _one(self, one: Given, definition: Definition, listed: list[Mapping[str, Any]]) -> Lease | None:
        """Return the Lease of one address, None if its pod has ended or it cannot be taken over."""
        lease = None
        try:
            document = await self.api.pod(one.pod.namespace, one.pod.name)
            node = str(document["spec"].get("nodeName") or "")
            lease = whereabouts.lease_of(one, definition.network, document, await self._boot_id(node), listed)
            self.ended += lease is None
        except NotFound:
            self.ended += 1
        except NotTaken as error:
            self.problems.add(str(error))
        return lease

    async def _boot_id(self, node: str) -> str:
        if node and node not in self._nodes:
            try:
                self._nodes[node] = whereabouts.boot_id_of(await self.api.node(node))
            except NotFound:
                self._nodes[node] = ""
        return self._nodes.get(node, "")

    async def _take(self, found: list[Lease]) -> None:
        """Make the Leases of *found*, and report those of claims."""
        new = [one for one in found if await self._reserved(one)]
        self.taken |= {one.name: one for one in new}
        for owner, same in whereabouts.addresses_of_claims(new):
            await self._report(owner.namespace, owner.name, same)

    async def _reserved(self, lease: Lease) -> bool:
        """Make *lease*; return whether its owner has it now."""
        for _ in range(TRIES):
            try:
                await self.api.create_lease(leases.document(lease, time.time()))
            except Conflict:
                with suppress(NotFound):  # it was released meanwhile
                    return self._is_its(lease, await self.api.lease(lease.name))
            else:
                return True
        self.problems.add(f"The Lease {lease.name} of pod {lease.pod} changes too often. Run it again")
        return False

    def _is_its(self, lease: Lease, found: Mapping[str, Any]) -> bool:
        """Return whether the Lease *found* is of the owner of *lease*; if not, it is a problem."""
        try:
            other = leases.parse(found).owner
        except leases.LeaseInvalid as error:
            self.problems.add(f"{lease.address.ip} of pod {lease.pod} is not taken over: {error}")
            return False
        if other.uid != lease.owner.uid:
            remedy = "delete one of them, so that it is made again with another address"
            self.problems.add(f"{lease.address.ip} of pod {lease.pod} is reserved for {other}: {remedy}")
        return other.uid == lease.owner.uid

    async def _report(self, namespace: str, name: str, same: tuple[Lease, ...]) -> None:
        """Write the addresses into the status of their claim."""
        addresses = tuple(one.address for one in same)
        try:
            claim = claims.parse(await self.api.claim(namespace, name))
            if not claim.ips:
                pod = same[0].pod.name if same[0].pod else ""
                patch = claims.allocated_patch(claim, addresses, pod, time.time())
                await self.api.patch_claim_status(namespace, name, patch)
            elif not all(claim.has(one) for one in addresses):
                shown = ", ".join(str(one.ip) for one in addresses)
                self.problems.add(f"IPAMClaim {namespace}/{name} has {', '.join(claim.ips)}; its pod has {shown}")
        except (NotFound, Conflict, claims.ClaimInvalid) as error:
            cause = error.cause if isinstance(error, NodenetError) else str(error)
            self.problems.add(f"IPAMClaim {namespace}/{name} does not name its addresses: {cause}. Run it again")

    async def _switch(self) -> None:
        """Give the definitions the configuration of nodenet-ipam, also one that changes meanwhile."""
        for definition in self.definitions:
            place = definition.namespace, definition.name
            for _ in range(TRIES):
                try:
                    await self.api.configure(*place, definition.version, definition.configuration)
                    break
                except NotFound:
                    break
                except Conflict:
                    found = whereabouts.definition(await self.api.definition(*place))
                    if found is None or found.configuration != definition.configuration:
                        self.problems.add(f"The definition {definition} was changed meanwhile. Run it again")
                        break
                    definition = found  # noqa: PLW2901 -- with its version
            else:
                self.problems.add(f"The definition {definition} changes too often. Run it again")

    async def _late(self) -> None:
        """Take over what whereabouts gives by the former configuration to pods whose start had begun."""
        if not self.definitions:
            return
        note(f"nodenetctl: for {self.settle:g} s more, addresses of pods whose start had begun are looked for")
        end = time.monotonic() + self.settle
        while time.monotonic() < end:
            await asyncio.sleep(min(PAUSE, self.settle))
            await self._take(await self._planned())
