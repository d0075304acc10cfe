"""Would this node's file be taken? Asked before anything of a reload is put in force; nothing is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import content as desired
from nodenet.core.node_file import find as node_file
from nodenet.core.node_file.find import NodeFile
from nodenet.ports import Files, Nmstate


class NodeFileJudge:
    """Sees the node file as the stage nmstate would, as far as that needs no look at the network."""

    def __init__(self, files: Files, nmstate: Nmstate, directory: PurePath) -> None:
        """Look for node files in *directory*."""
        self._files = files
        self._nmstate = nmstate
        self._directory = directory

    def on_disk(self, facts: Facts) -> Facts:
        """Return *facts* with the file as it lies there now; one that cannot be read has no digest."""
        found, file = None, None
        try:
            found = self._search(facts)
            file = self._read(found) if found else None
        except node_file.Rivals as error:
            found = error.names
        except NodeFileInvalid:
            pass
        return replace(facts, node_file=found, digest=file.digest if file else None, unused=None)

    async def judge(self, facts: Facts) -> None:
        """Return when nothing speaks against the file. Raises NodeFileInvalid, LibnmstateMissing."""
        found = self._search(facts)
        file = self._read(found) if found else None
        if file is None or file.digest == facts.applied_digest:
            return
        wish = desired.parse(file)
        if wish.empty:
            return
        try:
            async with self._nmstate.transaction() as transaction:
                await transaction.validate(file.text)
        except NmstateFailure as failure:
            if failure.kind is FailureKind.MISSING:
                raise LibnmstateMissing(failure.cause, remedy=failure.remedy) from failure
            if failure.kind is FailureKind.INVALID:
                text = desired.without_secrets(failure.cause, wish.secrets)
                raise NodeFileInvalid(f"{file.name}: {text}", remedy=failure.remedy) from failure
            # Whatever else it is says nothing about the file: the stage meets it too, and has another try.

    def _search(self, facts: Facts) -> str | None:
        return node_file.search(facts.hostname, self._files.listing(self._directory)).found

    def _read(self, name: str) -> NodeFile:
        return node_file.read(name, self._files.read_node_file(self._directory, name))
