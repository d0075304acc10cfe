"""The hostname stage: which name does this node have, for its node file and in its cluster?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath, PurePosixPath

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Again, Done, Outcome, Topic, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import NotAFile
from nodenet.core.hostname.name import normalised
from nodenet.core.hostname.sources import (
    FALLBACK_FILE,
    STATIC_FILE,
    Source,
    chosen,
    kernel_source,
    refusal,
    static_source,
)
from nodenet.core.messages import Message
from nodenet.core.node_file.find import has_host_specific
from nodenet.core.settings.model import Settings
from nodenet.ports import Files, Host, LeaseNames
from nodenet.stage_edges import StageEdges

log = structlog.get_logger()

CHANGES = frozenset({Topic.HOSTNAME, Topic.BUS})
REMEDY = "`hostnamectl hostname NAME`, or a name by DHCP or reverse DNS"


class HostnameStage:
    """Takes the first valid name and makes it static.

    A host-specific node file needs the name: then the stages behind wait for one. Kubelet waits for one in any case: it
    would register the node as ``localhost``.
    """

    def __init__(self, host: Host, leases: LeaseNames, files: Files, directory: PurePath) -> None:
        """Look for node files in *directory*."""
        self._host = host
        self._leases = leases
        self._files = files
        self._directory = directory
        self._pinned_for: int | None = None
        """The run that the name was made static in; after it the name is only compared."""
        self._told: set[PurePosixPath] = set()
        """The directories that were logged."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return Done with the name, Waiting while the host has no valid one."""
        if facts.hostname and self._pinned_for == request.run:
            return self._look(facts, facts.hostname)
        sources = await self._sources()
        if (source := chosen(sources)) is None:
            return self._unknown(sources, facts)
        name = normalised(source.value)
        static = sources[0].value.lower()  # what is in the file is static already, and needs no bus
        if static != name and (why := await self._host.pin(name)):
            log.warning(f"The host name {name} could not be made static: {why}", stage="hostname")
        self._pinned_for = request.run
        return Done(f"This node is {name}", replace(facts, hostname=name), Message.HOSTNAME_KNOWN, again=Again(CHANGES))

    def _look(self, facts: Facts, name: str) -> Done:
        """Compare the name of the host; the node keeps its own until a reload takes a changed one."""
        now = normalised(self._host.name())
        if now == name:
            return Done(f"This node is {name}", facts, Message.HOSTNAME_KNOWN, again=Again(CHANGES))
        text = f"This node stays {name}, though the host is called {now!r} now"
        return Done(text, facts, Message.HOSTNAME_CHANGED, again=Again(CHANGES))

    def _unknown(self, sources: tuple[Source, ...], facts: Facts) -> Outcome:
        last = sources[-1]
        reason = f"a valid host name: {last.value!r} is not one, {refusal(last)} ({REMEDY})"
        aside = not has_host_specific(self._files.listing(self._directory))
        return Waiting(reason, CHANGES, facts=replace(facts, hostname=None), aside=aside)

    async def name(self) -> str | None:
        """Return the name that a run of the stage would take now; None where there is no valid one."""
        source = chosen(await self._sources())
        return normalised(source.value) if source else None

    async def _sources(self) -> tuple[Source, ...]:
        """Return what a name may be taken from, the one in force last."""
        static = static_source(self._read(STATIC_FILE))
        # A valid static name is never overwritten, so the leases are not needed.
        leases = await self._leases.names() if refusal(static) else ()
        return (static, *leases, kernel_source(self._host.name(), self._read(FALLBACK_FILE)))

    def _read(self, path: PurePosixPath) -> bytes | None:
        """Return what *path* says; a directory in its place says nothing, and is logged once. Raises PublishFailed."""
        try:
            return self._files.read(path)
        except NotAFile as error:
            if path not in self._told:
                self._told.add(path)
                log.warning(f"{error}", message=error.message, stage="hostname")
            return None


def build(edges: StageEdges, settings: Settings) -> HostnameStage:
    """Return the stage for *settings*."""
    return HostnameStage(edges.host, edges.leases, edges.files, PurePath(settings.node_file_dir))
