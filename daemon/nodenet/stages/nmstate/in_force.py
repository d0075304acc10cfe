"""Was the network made by this node file, and is it still as the file asks for?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import Any

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.br_ex.condition import profiles_of
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.errors import PublishFailed
from nodenet.core.nmstate import below_bridge
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import find as node_file
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.ports import Store, Transaction
from nodenet.stages.apply.pipeline import Pipeline

BRIDGE_IN_THE_WAY = (
    "Its configuration of a link below br-ex can change only after `nodenetctl bridge remove`; then "
    "`nodenetctl reload --wait` and `nodenetctl bridge make`"
)


class InForce:
    """The file that the network was last made by: in the record, and before nodenet in the marker `applied`."""

    def __init__(self, store: Store, pipeline: Pipeline, directory: PurePath) -> None:
        """*directory* has the marker."""
        self._store = store
        self._pipeline = pipeline
        self._directory = directory

    async def difference(self, file: NodeFile, wish: Desired, transaction: Transaction) -> dict[str, Any]:
        """Return what the file asks for beyond the state. Raises NmstateFailure.

        configure-ovs may have moved to a bridge what a file in force gave to a link. Of another file it is not known
        which part is about the bridge by now: it is refused.
        """
        text, refused = file.text, None
        left: dict[str, Any] = {}
        try:
            others = await self._pipeline.others.now(bridges=wish.uses_ovs)
            if not (left := await transaction.difference(text, others)):
                return left
        except NmstateFailure as failure:
            if failure.kind is not FailureKind.INVALID:
                raise
            refused = failure
        known = self.knows(file)
        if not (known or refused):
            return left
        above = tuple(name for name in (BRIDGE, EXTRA_BRIDGE) if name not in wish.bridges)
        left = await transaction.difference_below(
            text, above, others
        )  # raises too, unless only bridges were in the way
        if refused and not known:
            raise NmstateFailure(refused.kind, refused.cause, BRIDGE_IN_THE_WAY)
        return below_bridge.still_asked(left, await self._to_come(above)) if left else left

    async def _to_come(self, bridges: Collection[str]) -> frozenset[str]:
        """Return the links that get below *bridges* with their carrier: NetworkManager activates no NIC without one.

        Raises Unavailable.
        """
        others = self._pipeline.others
        dark = {each.name for each in others.kernel.snapshot().links if not each.carrier}
        if not dark:
            return frozenset()
        profiles = (await others.profiles.inventory()).profiles
        found = (each for bridge in bridges for each in profiles_of(profiles, bridge))
        return frozenset(each.link for each in found if each.link in dark and not each.kind.startswith("ovs-"))

    def is_only_compared(self, file: NodeFile) -> bool:
        """Return whether *file* is not applied while NetworkManager is starting: it is in force, and verified."""
        record = self._pipeline.record
        return self.knows(file) and not (record and record.phase is Phase.APPLYING)

    def knows(self, file: NodeFile) -> bool:
        """Return whether the network was last made by *file*; before nodenet the marker says so."""
        record = self._pipeline.record
        return record.in_force == file.digest if record else self._is_marked(file)

    def mark(self, file: NodeFile) -> None:
        """Keep the compatibility marker a byte copy of the applied file, for root only: it may contain secrets."""
        if not self._is_marked(file):
            self._store.save(PurePosixPath(self._directory / node_file.APPLIED), file.text.encode())

    def _is_marked(self, file: NodeFile) -> bool:
        return self._store.read(PurePosixPath(self._directory / node_file.APPLIED)) == file.text.encode()

    def before(self, facts: Facts) -> Facts:
        """Return the facts of the file that is still applied; unchanged if the record cannot be read."""
        try:
            record = self._pipeline.record
        except PublishFailed:  # a problem of every pass that reaches the network
            return facts
        in_force, bridge = (record.in_force, record.brings_bridge) if record else (None, False)
        return replace(facts, applied_digest=in_force, brings_bridge=bridge)
