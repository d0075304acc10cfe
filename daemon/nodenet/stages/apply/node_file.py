"""Where is this node's file, and may it be applied?

The one place that finds, reads, parses and judges node files: for the stage, a reload, `nodenetctl check` and the
evidence of a unit. Parsing a file of the largest size takes seconds, so it is done in a thread.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath, PurePosixPath

from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid, PublishFailed, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import content, find, host_values
from nodenet.core.node_file.content import Desired, Judged
from nodenet.core.node_file.find import NodeFile, Search
from nodenet.core.node_file.finding import Finding, errors, refusal
from nodenet.core.node_file.host_values import Identity
from nodenet.core.node_file.translate import finding_of
from nodenet.core.ownership.things import NO_OTHERS, Others
from nodenet.ports import Files, Nmstate, Store, Transaction
from nodenet.stages.apply.policies import Policies, resolved

NICS = PurePosixPath("/sys/class/net")
"""The links of the kernel: ``address``, and below a bond the address that the NIC had before (bonding.rst)."""
SERIAL = PurePosixPath("/sys/class/dmi/id/product_serial")


async def judged(file: NodeFile) -> Judged:
    """Return what is known about *file* offline. Raises NodeFileInvalid where it is not YAML."""
    return await asyncio.to_thread(content.judge, file)


async def all_findings(file: NodeFile, transaction: Transaction) -> Judged:
    """Return everything that is wrong with *file*, as far as it is known without looking at the network.

    Raises NodeFileInvalid where it is not YAML, NmstateFailure where libnmstate could not be asked.
    """
    known = await judged(file)
    if known.desired.empty or known.desired.is_policy:  # what libnmstate says of a policy has no place in the file
        return known
    try:
        final = await transaction.validate(file.text)
    except NmstateFailure as failure:
        if failure.kind is not FailureKind.INVALID:
            raise
        if errors(known.findings):
            return known  # libnmstate names one mistake, and not where
        said = finding_of(failure, known.document, known.desired.secrets)
        return replace(known, findings=(*known.findings, said))
    if not final:
        return known
    # It knows every key and value that it takes: what contradicts our table is new.
    return replace(known, findings=tuple(each for each in known.findings if not each.by_table))


_searched = lru_cache(maxsize=4)(find.search)


class NodeFiles:
    """The node files of one directory."""

    def __init__(self, files: Files, nmstate: Nmstate, directory: PurePath, store: Store | None = None) -> None:
        """Look in *directory*; *store* has the records that the disk has not taken."""
        self._files = files
        self._nmstate = nmstate
        self.policies = Policies(files, directory, store)
        self.directory = directory

    def find(self, hostname: str | None) -> Search:
        """Return which file belongs to the node. Raises Rivals, NodeFileInvalid, Unavailable."""
        return _searched(hostname, self._files.listing(self.directory))

    def read(self, name: str, hostname: str | None) -> NodeFile:
        """Return the file *name*, with the values of this host. Raises NodeFileInvalid, PublishFailed, Unavailable.

        A file that cannot be trusted, or whose values the table does not have, is refused. A policy that was resolved
        on this node comes with its document.
        """
        return self.policies.known(self._read(name, hostname))

    def _read(self, name: str, hostname: str | None) -> NodeFile:
        file = find.read(name, self._files.read_node_file(self.directory, name))
        if not (find.is_of_cluster(name) and host_values.placeholders(file.text)):
            return file
        if host_values.TABLE not in self._files.listing(self.directory):
            cause = f"{name} asks for values of each host, and {self.directory} has no {host_values.TABLE}"
            raise NodeFileInvalid(cause, remedy=f"Write the values into {host_values.TABLE}, a row for each host")
        table = host_values.read(self._files.read_node_file(self.directory, host_values.TABLE))
        text = host_values.filled(name, file.text, table, table.row_of(self._identity(hostname)))
        host_values.need_all(name, file.text, table)
        return find.read(name, text.encode())

    def _identity(self, hostname: str | None) -> Identity:
        """Return how a table may know this host."""
        macs = set()
        for link in self._files.listing(NICS):
            for place in ("address", "bonding_slave/perm_hwaddr"):
                macs.add(host_values.mac_key(self._attribute(NICS / link / place)))
        return Identity(hostname, frozenset(macs - {"", "0" * 12}), self._attribute(SERIAL))

    def _attribute(self, path: PurePosixPath) -> str:
        """Return what the kernel says, nothing where it does not: a link without a MAC address identifies no host."""
        try:
            return (self._files.read(path) or b"").decode("ascii", "replace").strip()
        except PublishFailed:
            return ""

    async def wanted(self, file: NodeFile, search: Search) -> Desired:
        """Return what *file* asks for. Raises NodeFileInvalid for what is known to be wrong, LibnmstateMissing."""
        known = await judged(file)
        if known.desired.empty and search.others:
            beside = " and ".join(search.others)
            raise NodeFileInvalid(
                f"{file.name} asks for nothing, and {beside} would be the node file without it",
                remedy=f"Remove {file.name}, or write into it what this node needs",
            )
        wrong = errors(known.findings)
        if wrong and all(each.by_table for each in wrong):
            wrong = await self._unless_libnmstate_knows_better(file, wrong)
        if wrong:
            raise refusal(file.name, wrong)
        return known.desired

    async def resolved(self, file: NodeFile, others: Others) -> NodeFile:
        """Return the policy *file* with the document that it leads to, and keep that.

        Raises NodeFileInvalid, LibnmstateMissing, PublishFailed, Unavailable.
        """
        async with self._nmstate.transaction() as transaction:
            found = await resolved(file, transaction, others)
        self.policies.keep(found)
        return found

    async def _unless_libnmstate_knows_better(self, file: NodeFile, wrong: list[Finding]) -> list[Finding]:
        """Return *wrong*, findings by our table, or nothing if libnmstate accepts the file unchanged."""
        try:
            async with self._nmstate.transaction() as transaction:
                final = await transaction.validate(file.text)
        except NmstateFailure as failure:
            _raise_if_missing(failure)
            return wrong
        return [] if final else wrong

    def on_disk(self, facts: Facts) -> Facts:
        """Return *facts* with the file that is there now; a file that cannot be read has no digest."""
        found, file = None, None
        try:
            found = self.find(facts.hostname).found
            file = self.read(found, facts.hostname) if found else None
        except find.Rivals as error:
            found = error.names
        except NodeFileInvalid:
            pass
        except (PublishFailed, Unavailable):
            return facts  # nothing is known: no edit is seen
        digest = file.digest if file else None
        if (found, digest, None) == (facts.node_file, facts.digest, facts.unused):
            return facts
        return replace(facts, node_file=found, digest=digest, unused=None)

    def edited(self, facts: Facts) -> str | None:
        """Return the name of the node's file where it is not the one that *facts* have of the last time it was read."""
        here = self.on_disk(facts)
        read = facts.unused or (facts.node_file, facts.digest)
        if here is facts or (here.node_file, here.digest) == read:
            return None
        return here.node_file or read[0]

    async def judge(self, facts: Facts) -> None:
        """Return when nothing is wrong with the file. Raises NodeFileInvalid, LibnmstateMissing, Unavailable."""
        search = self.find(facts.hostname)
        file = self.read(search.found, facts.hostname) if search.found else None
        if file is None or file.digest == facts.applied_digest:
            return
        desired = await self.wanted(file, search)
        if desired.empty:
            return
        try:
            async with self._nmstate.transaction() as transaction:
                if desired.is_policy:
                    file = await resolved(file, transaction, NO_OTHERS)
                known = await all_findings(file, transaction)
        except NmstateFailure as failure:
            _raise_if_missing(failure)
            return  # says nothing about the file: the stage meets it too, and tries again
        if wrong := errors(known.findings):
            raise refusal(file.name, wrong)


def _raise_if_missing(failure: NmstateFailure) -> None:
    if failure.kind is FailureKind.MISSING:
        raise LibnmstateMissing(failure.cause, remedy=failure.remedy) from failure
