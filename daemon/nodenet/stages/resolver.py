"""The resolv-prepender stage: which DNS servers does this host use, and is the node's own the first?

It runs before nodeip, because later stages may have to look up names. But it also needs the node IP, so it has two
passes. The first one makes sure that resolv.conf has a nameserver. The second one runs when the node IP is known, and
again with every change of DNS. It puts the node IP first as soon as a DNS server answers there.
"""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

import structlog

from nodenet.core import resolver
from nodenet.core.boot.outcome import Again, Done, Facts, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import PublishFailed
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.resolver import (
    DONE,
    DROP_IN,
    LEAVE_ALONE,
    LEFT_ALONE,
    NM_FILES,
    RESOLV_CONF,
    UNMANAGED,
    WRITERS,
    View,
)
from nodenet.core.settings.model import ResolverMode, Settings
from nodenet.core.since import BEAT_SECONDS, NEVER, Since, until_common
from nodenet.core.value import frozen
from nodenet.ports import Clock, DnsManager, Files, Resolved, ResolverProbe
from nodenet.ports.hosted_services import NodeDns
from nodenet.stage_edges import StageEdges

log = structlog.get_logger()

TOPICS = frozenset({Topic.DNS, Topic.NODE_IP, Topic.BUS})
PATIENCE_SECONDS = 30.0
"""How long the stage waits for a nameserver; then the boot continues: kubelet is not held back for ever."""
RELOAD_OWED = PurePosixPath("/run/nodenet/resolved-reload-owed")
"""Exists while the drop-in was written and systemd-resolved has not read it."""
MANAGER_RELOAD_OWED = PurePosixPath("/run/nodenet/network-manager-reload-owed")
"""Exists while LEFT_ALONE was written or removed and NetworkManager has not read it."""


@frozen
class ResolverEdges:
    """Everybody outside who has to do with look-ups."""

    manager: DnsManager
    resolved: Resolved
    probe: ResolverProbe
    own: NodeDns
    """dnsmasq of this node, where nodenetd runs one."""


class ResolvPrependerStage:
    """Puts the node's own resolver first, and keeps it there."""

    def __init__(self, outside: ResolverEdges, files: Files, clock: Clock, settings: Settings) -> None:
        """*settings* say what is wanted: VIPs, ``cluster_domain``, ``resolver``."""
        self._outside = outside
        self._files = files
        self._clock = clock
        self._vips = settings.api_vips + settings.ingress_vips
        self._domain = settings.cluster_domain
        self._always = settings.resolver is ResolverMode.ALWAYS
        self._nameless = Since(clock.boottime())
        self._silent = NEVER
        self._first: IPAddress | None = None
        self._wrote: bytes | None = None
        self._mended: list[float] = []
        self._told: set[str] = set()

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002  (no request is for this stage)
        """Return Done once look-ups are answered or nothing more can be done for them now, Waiting before."""
        if not self._vips:
            await self._outside.own.look(facts, ())
            reason = "no VIPs are configured: the node has no resolver of its own"
            return Skipped(reason, facts, again=await self._give_back())
        view = await self._look()
        own = facts.selection.node_ips if facts.selection else ()
        node_ip = own[0] if own else None
        known = view.upstream(own)
        served = await self._outside.own.look(facts, known)
        first = node_ip if await self._takes(node_ip, view) else None
        none = not known and first is None
        if none and (left := self._nameless.left(self._clock.boottime(), PATIENCE_SECONDS)) > 0:
            return Waiting(f"a nameserver: NetworkManager knows none, {RESOLV_CONF} has none", TOPICS, left)
        # DNS has events, but a program that rewrites the file causes none.
        problem, pause = _no_server() if none else served.problem, BEAT_SECONDS
        try:
            await self._take_over(view)
            pause = await self._write(view, node_ip, first) or pause
            await self._tell_resolved(view, node_ip, first)
        except PublishFailed as error:
            problem = Problem.of(error)
        if node_ip is not None:
            self._files.write(DONE, b"")
            if first is None:
                pause = min(pause, self._next_probe())
        if served.seconds is not None:
            pause = min(pause, served.seconds)
        if pause >= BEAT_SECONDS:
            pause = until_common(self._clock.boottime(), BEAT_SECONDS)  # with the watchdog's beat
        detail = "; ".join(filter(None, (_detail(known, node_ip, first), served.note)))
        return Done(detail, facts, Message.RESOLVER_SET, problem, Again(TOPICS, pause))

    async def _look(self) -> View:
        manager, resolved = await asyncio.gather(self._outside.manager.dns(), self._outside.resolved.runs())
        return View(
            found=self._files.read(RESOLV_CONF),
            leads_to=self._files.leads_to(RESOLV_CONF),
            manager_files=tuple(self._files.read(path) for path in NM_FILES),
            manager=manager,
            resolved=resolved,
            kept=self._wrote,
        )

    async def _take_over(self, view: View) -> None:
        """Let NetworkManager leave resolv.conf alone in this boot: it would empty the file while links move."""
        writes = view.manager is not None and view.manager.rc_manager in WRITERS
        if writes and view.place is not None and self._files.read(LEFT_ALONE) != LEAVE_ALONE:
            self._files.write(MANAGER_RELOAD_OWED, b"")
            self._files.write(LEFT_ALONE, LEAVE_ALONE)
        await self._reload_manager()

    async def _give_back(self) -> Again | None:
        """Let NetworkManager write the file again; return when to look whether it has read that."""
        if self._files.read(LEFT_ALONE) is not None:
            self._files.write(MANAGER_RELOAD_OWED, b"")
            self._files.remove(LEFT_ALONE)
        return None if await self._reload_manager() else Again(TOPICS, BEAT_SECONDS)

    async def _reload_manager(self) -> bool:
        """Let NetworkManager read its configuration where that is owed; return whether nothing is owed now.

        A reload that fails is repeated at the next check, also by a nodenetd that was started again.
        """
        if self._files.read(MANAGER_RELOAD_OWED) is None:
            return True
        if why := await self._outside.manager.read_configuration():
            if why not in self._told:
                self._told.add(why)
                text = f"NetworkManager did not read its configuration: {why}; it is asked again"
                log.warning(text, stage="resolv-prepender")
            return False
        self._files.remove(MANAGER_RELOAD_OWED)
        return True

    async def _takes(self, node_ip: IPAddress | None, view: View) -> bool:
        """Return whether the node IP goes first. Once it is, it stays for this boot: a resolver may be restarted."""
        if node_ip is None:
            return False
        if self._always or node_ip == self._first or self._is_first(node_ip, view):
            return True
        name = f"api-int.{self._domain}" if self._domain else ""
        return await self._outside.probe.answers(node_ip, name)

    def _is_first(self, node_ip: IPAddress, view: View) -> bool:
        """Return whether an earlier nodenetd of this boot has put it first; what others did since is ignored."""
        if self._wrote is not None or self._files.read(DONE) is None:
            return False
        if view.place is None:
            return resolver.names(self._files.read(DROP_IN), node_ip)
        return resolver.is_ours(view.found) and resolver.nameservers(view.found)[:1] == (node_ip,)

    def _next_probe(self) -> float:
        now = self._clock.boottime()
        self._silent = self._silent.holds(now)
        return resolver.probe_pause(self._silent.lasted(now))

    async def _write(self, view: View, node_ip: IPAddress | None, first: IPAddress | None) -> float:
        """Make resolv.conf what it should be; return how long to leave it to a program that keeps rewriting it."""
        before, self._first = self._first, first
        if view.place is None:
            return 0.0
        source = view.source
        if resolver.is_ours(source):  # made from itself: what was put first before, or in an earlier boot, goes
            for address in (before, node_ip):
                if address is not None and address != first:
                    source = resolver.without(source, address)
        wanted = resolver.prepended(source, first, self._domain)
        if not resolver.nameservers(wanted):
            return 0.0
        if view.found not in (wanted, self._wrote) and self._wrote is not None and (pause := self._mend(view)):
            return pause
        if self._files.write(view.place, wanted) and view.manager and view.manager.rc_manager == UNMANAGED:
            await self._outside.manager.repeat_lookups()
        self._wrote = wanted
        return 0.0

    def _mend(self, view: View) -> float:
        """Log once that the file was rewritten; return how long to wait before it is corrected, 0: now."""
        now = self._clock.boottime()
        if pause := resolver.mend_pause(self._mended, now):
            return pause
        self._mended = [*self._mended[-8:], now]
        who, remedy = _culprit(view)
        if who not in self._told:
            self._told.add(who)
            text = f"{RESOLV_CONF} was rewritten by {who} and corrected"
            log.warning(text, message=Message.RESOLVER_REWRITTEN, stage="resolv-prepender", remedy=remedy)
        return 0.0

    async def _tell_resolved(self, view: View, node_ip: IPAddress | None, first: IPAddress | None) -> None:
        """Give systemd-resolved its drop-in; one that names an address the node no longer has is taken away."""
        if not view.resolved:
            return
        if node_ip is not None:
            self._drop_in(view, node_ip, first)
        if self._files.read(RELOAD_OWED) is not None:
            await self._outside.resolved.reload()
            self._files.remove(RELOAD_OWED)

    def _drop_in(self, view: View, node_ip: IPAddress, first: IPAddress | None) -> None:
        there = self._files.read(DROP_IN)
        named = resolver.names(there, node_ip)
        if named and (first is None or view.manager is None):
            return  # nothing answers yet, but it was right before; or the domains are not known at this moment
        wanted = resolver.drop_in(first, self._domain, view.domains) if first else None
        if wanted == there:
            return
        self._files.write(RELOAD_OWED, b"")
        if wanted is None:
            self._files.remove(DROP_IN)
        else:
            self._files.write(DROP_IN, wanted)


def _no_server() -> Problem:
    cause = f"No nameserver within {PATIENCE_SECONDS:.0f} s: NetworkManager knows none and {RESOLV_CONF} has none"
    return Problem(Message.NAME_SERVERS_SILENT, cause, "Give the profile a nameserver (ipv4.dns, or by DHCP)")


def _culprit(view: View) -> tuple[str, str]:
    """Return who rewrote the file, as far as it is known, and how to stop it."""
    who = resolver.likely_writer(view.found or b"") if view.found is not None else "a program that removed it"
    if who == "NetworkManager":
        mode = view.manager.rc_manager if view.manager else "unknown"
        return f"{who} (rc-manager {mode})", "Set rc-manager=unmanaged in [main] of /etc/NetworkManager/conf.d/*.conf"
    if who == resolver.REPLACED_SCRIPT:
        return who, "Run `systemctl mask --now on-prem-resolv-prepender.path`"
    return who, f"Do not write {RESOLV_CONF}; set DNS servers in NetworkManager's profiles: `nmcli connection modify`"


def _detail(known: tuple[IPAddress, ...], node_ip: IPAddress | None, first: IPAddress | None) -> str:
    others = ", ".join(map(str, known[: resolver.MAX_SERVERS - (first is not None)])) or "none"
    if first is not None:
        return f"DNS servers: {first} (this node), then {others}"
    why = "The node IP is not known yet" if node_ip is None else f"Not using {node_ip}: no DNS server there yet"
    return f"DNS servers: {others}. {why}"


def build(edges: StageEdges, settings: Settings) -> ResolvPrependerStage:
    """Return the stage for *settings*."""
    own = ResolverEdges(edges.dns, edges.resolved, edges.resolver_probe, edges.node_dns(settings))
    return ResolvPrependerStage(own, edges.files, edges.clock, settings)
