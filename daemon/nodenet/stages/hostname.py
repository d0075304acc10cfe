"""The hostname stage: which name does this node have, for its node file and in its cluster?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath, PurePosixPath

import structlog

from nodenet.core.boot.outcome import Again, Done, Facts, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import NodeFileInvalid, NotAFile
from nodenet.core.hostname import (
    FALLBACK_FILE,
    STATIC_FILE,
    Origin,
    Source,
    chosen,
    is_placeholder,
    kernel_source,
    normalised,
    provenance,
    refusal,
    static_source,
    why_invalid,
)
from nodenet.core.messages import Message
from nodenet.core.node_file import find
from nodenet.core.node_file.find import named_macs
from nodenet.core.node_ip.published_files import UNITS
from nodenet.core.settings.model import Settings
from nodenet.ports import Files, Host, Kernel, LeaseNames, Systemd
from nodenet.stage_edges import StageEdges

log = structlog.get_logger()

CHANGES = frozenset({Topic.HOSTNAME, Topic.BUS})
REMEDY = "`hostnamectl hostname NAME`, or a name by DHCP or reverse DNS"
NAMELESS = CHANGES | {Topic.NETWORK_MANAGER}
"""A lease may bring a name and change none of the host's."""


class HostnameStage:
    """Takes the first valid name.

    A host-specific node file needs the name: then the stages behind wait for one. Kubelet waits for one in any case: it
    would register the node as ``localhost``. A name that is not static lasts until the host shuts down, and no longer.
    """

    def __init__(self, edges: StageEdges, settings: Settings) -> None:
        """Look for node files in the directory of *settings*."""
        self._host: Host = edges.host
        self._leases: LeaseNames = edges.leases
        self._files: Files = edges.files
        self._systemd: Systemd = edges.systemd
        self._kernel: Kernel = edges.kernel
        self._directory = PurePath(settings.node_file_dir)
        self._dhcpv6 = settings.dhcpv6_hostname
        self._taken_for: int | None = None
        """The run that the name was taken in; after it the name is only compared."""
        self._renamed: Problem | None = None
        """Of a name that a reload took while kubelet ran with another one."""
        self._told: set[PurePosixPath] = set()
        """The directories that were logged."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return Done with the name, Waiting while the host has no valid one."""
        if facts.hostname and self._taken_for == request.run:
            return await self._look(facts, facts.hostname)
        sources = await self._sources()
        source = chosen(sources, dhcpv6=self._dhcpv6)
        why = _why_unknown(sources, dhcpv6=self._dhcpv6) if source is None else self._of_another_host(source, sources)
        if source is None or why:
            return self._unknown(why or "", facts)
        name = normalised(source.value)
        refused = None if source.origin is Origin.STATIC else await self._take(name)
        if refused and source.origin is not Origin.KERNEL:
            return self._unknown(f"the host cannot be called {name}, and kubelet asks the host: {refused}", facts)
        if refused:
            log.warning(f"The host could not be called {name}: {refused}", stage="hostname")
        self._taken_for = request.run
        self._renamed = await self._other_than_kubelets(facts.hostname, name)
        facts = replace(facts, hostname=name, hostname_source=provenance(source, sources))
        problem = _wrong_static(sources[0].value, name) or self._renamed
        return Done(f"This node is {name}", facts, Message.HOSTNAME_KNOWN, problem, Again(CHANGES))

    async def _take(self, name: str) -> str | None:
        """Let the host have *name* where it has another one, in lower case or not; return why it has not, if so."""
        return None if self._host.name().lower() == name else await self._host.take(name)

    async def _look(self, facts: Facts, name: str) -> Done:
        """Compare the name of the host; the node keeps its own until a reload takes a changed one.

        Where the host's name is none any more, as while the lease moves to br-ex, or came from where no name may come
        from, the node's name is given to the host again: kubelet asks the host.
        """
        now = normalised(self._host.name())
        if now != name and (sources := await self._sources()) and refusal(sources[-1], sources, dhcpv6=self._dhcpv6):
            await self._take(name)
            now = normalised(self._host.name())
        if now == name:
            return Done(f"This node is {name}", facts, Message.HOSTNAME_KNOWN, self._renamed, Again(CHANGES))
        text = f"This node stays {name}, though the host is called {now!r} now"
        return Done(text, facts, Message.HOSTNAME_CHANGED, again=Again(CHANGES))

    async def _other_than_kubelets(self, before: str | None, name: str) -> Problem | None:
        """Return the problem of a node that was called *before* when kubelet started; the next reload ends it."""
        if not before or before == name or not await self._systemd.any_runs(UNITS):
            return None
        cause = (
            f"This node was {before} and is {name} since the reload; kubelet runs with the name that it started with"
        )
        remedy = (
            f"`hostnamectl hostname {before}`; or drain the node, delete the Node {before} and restart kubelet; "
            "then run `nodenetctl reload --wait`"
        )
        return Problem(Message.HOSTNAME_CHANGED, cause, remedy)

    def _unknown(self, why: str, facts: Facts) -> Outcome:
        aside = not find.has_host_specific(self._files.listing(self._directory))
        unnamed = replace(facts, hostname=None, hostname_source="")
        return Waiting(f"a valid host name: {why} ({REMEDY})", NAMELESS, facts=unnamed, aside=aside)

    def _of_another_host(self, source: Source, sources: Sequence[Source]) -> str | None:
        """Return why the name of *source* belongs to another host: its node file names only MACs of others.

        A program or host that answers first gives a name that is not static, and with it another host's addresses.
        """
        if source.origin is Origin.STATIC:
            return None
        with suppress(NodeFileInvalid):  # the stage nmstate says what is wrong with the file
            name = normalised(source.value)
            found = find.search(name, self._files.listing(self._directory)).found
            if found is None or find.is_of_cluster(found):
                return None
            file = find.read(found, self._files.read_node_file(self._directory, found))
            here = {mac for link in self._kernel.snapshot().links for mac in (link.mac, link.permanent_mac)}
            if (named := named_macs(file.text)) and named.isdisjoint(here):
                macs = ", ".join(sorted(named))
                return f"{name!r} ({provenance(source, sources)}) is another host's, {found} is for {macs}"
        return None

    async def name(self) -> str | None:
        """Return the name that a run of the stage would take now; None where there is no valid one."""
        sources = await self._sources()
        source = chosen(sources, dhcpv6=self._dhcpv6)
        return None if source is None or self._of_another_host(source, sources) else normalised(source.value)

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


def _why_unknown(sources: Sequence[Source], *, dhcpv6: bool) -> str:
    """Return why none of *sources* gives a name, the one in force last."""
    last = sources[-1]
    return f"{last.value!r} is not one, {refusal(last, sources, dhcpv6=dhcpv6)}"


def _wrong_static(static: str, name: str) -> Problem | None:
    """Return the problem of a *static* name that is none, and stands for no unknown one; the node is called *name*."""
    wrong = why_invalid(normalised(static))
    if wrong is None or is_placeholder(normalised(static)):
        return None
    cause = f"{STATIC_FILE} says {static!r}: {wrong}; this node is {name}"
    return Problem(Message.NOTE, cause, "`hostnamectl hostname NAME`, then `nodenetctl reload --wait`")


def build(edges: StageEdges, settings: Settings) -> HostnameStage:
    """Return the stage for *settings*."""
    return HostnameStage(edges, settings)
