"""Does dnsmasq answer the cluster's names on this node, from disk, and which servers does it use for all others?

Checked in the second pass of resolv-prepender and with each change of DNS. Every check compares the present state with
the wanted one, so a dnsmasq that was killed, restarted or changed is correct again after the next check.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePath

import structlog

from nodenet.core.boot.outcome import Facts, Problem, named
from nodenet.core.errors import PublishFailed, Unavailable, UnitFailed
from nodenet.core.hosted_services import dns, dnsmasq, model
from nodenet.core.hosted_services.dns import SYSCTLS, forwarding_link, to_set
from nodenet.core.hosted_services.dnsmasq import Place
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.model import OWED_RESTART, Inputs, Service, expected, likely, options_of
from nodenet.core.hosted_services.plan import NodePlan
from nodenet.core.hosted_services.units import DnsLook, Others, Restarts, Running, why_waiting
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip import last_published
from nodenet.core.settings.model import ClusterDnsTrust, HostedMode, Settings
from nodenet.core.since import NEVER
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Host, Kernel, Ovsdb, ResolverProbe, Sysctls
from nodenet.ports.hosted_services import (
    ApiIntFile,
    CacheFiles,
    ConfigurationFiles,
    Dnsmasq,
    NameLookup,
    OtherStacks,
    RedirectTable,
    ServiceUnits,
    Sockets,
)
from nodenet.stages.hosted_services.on_disk import OnDisk
from nodenet.stages.hosted_services.stage import OutsideLinks

# Does dnsmasq run with an older configuration than that on the disk?
#
# The disk keeps the answer for the next nodenetd.


class OwedRestart:
    """A restart that dnsmasq needs."""

    def __init__(self, files: ConfigurationFiles) -> None:
        """Look at the disk with the first note."""
        self._files = files
        self._looked = False
        self.is_owed = False

    def note(self, *, changed: bool) -> None:
        """Take note of whether the configuration has just *changed*. Raises PublishFailed."""
        self.is_owed = self.is_owed or changed
        if not self._looked:
            self.is_owed = bool(self._files.remove((OWED_RESTART,))) or self.is_owed
            self._looked = True
        if self.is_owed:
            self._files.write({OWED_RESTART: ""})

    def done(self) -> None:
        """Take note that dnsmasq reads the present configuration. Raises PublishFailed."""
        self.is_owed = False
        self._files.remove((OWED_RESTART,))


# Does the link of the node IP forward packets, also after the node IP moved to br-ex?
#
# This is not a stage: it reads the facts of the stages, so it follows the node IP to any link.

log = structlog.get_logger()


class Forwarding:
    """Sets the kernel parameters of the node IP's link; READY comes after it.

    Looked at with every change of the status: NetworkManager sets it back when it reapplies the link's profile.
    """

    def __init__(self, links: Sysctls) -> None:
        """*links* reads and writes."""
        self._links = links
        self._told: str | None = None
        self.settings = Settings()
        """The present settings; the assembly replaces them at a reload."""

    def show(self, status: BootStatus) -> None:
        """See to the link of the node IP; what cannot be set is reported once for a link."""
        link = forwarding_link(self.settings, status.facts)
        if link is None:
            return
        present = {name: value for name in SYSCTLS if (value := self._links.read(link, name)) is not None}
        if not (wanted := to_set(present)):
            return
        try:
            self._links.write(link, wanted)
        except Unavailable as error:
            if link == self._told:
                return
            self._told = link
            cause = f"{link} does not forward packets: {error.cause}"
            remedy = f"Run `echo 1 >/proc/sys/net/ipv4/conf/{link}/forwarding`, and the same for ipv6"
            log.error(cause, message=Message.HOSTED_PROBLEM, stage="nodeip", cause=cause, remedy=remedy)


# Does a CoreDNS of this node answer, which knows names of pods and services, and may it be believed?

LOCALHOST = ip_address("127.0.0.1")
TRUST_REMEDY = "Run CoreDNS as a service of systemd, or set `[hosted] cluster_dns` to root"
LOOP_REMEDY = "Let the Corefile forward to the servers of the site, and not to /etc/resolv.conf"


@frozen
class Asks:
    """What the servers of this node are asked with."""

    probe: ResolverProbe
    names: NameLookup
    sockets: Sockets


class ClusterDns:
    """The CoreDNS of this node."""

    def __init__(self, asks: Asks, domain: str, trust: ClusterDnsTrust) -> None:
        """*domain* is the cluster's, *trust* whose servers are believed."""
        self._asks = asks
        self._domain = domain
        self._trust = trust
        self._refused: set[int] = set()
        """Ports with a server that is not asked; each is logged once."""
        self.place: Place | None = None
        """Where the one is that answered at the last look."""

    async def look(self, addresses: tuple[IPAddress, ...]) -> bool:
        """Look on *addresses* of this node; return whether another server, or none, is to be asked now."""
        before = self.place
        self.place = await self._found(addresses)
        if before == self.place:
            return False
        where = self.place or before
        says = "answers and is asked for" if self.place else "does not answer and is no longer asked for"
        text = f"CoreDNS on {where[0]} port {where[1]} {says} names of {self._domain}" if where else ""
        log.info(text, stage=StageName.RESOLV_PREPENDER.value)
        return True

    async def _found(self, addresses: tuple[IPAddress, ...]) -> Place | None:
        places = self._believed([(address, port) for port in dnsmasq.CLUSTER_PORTS for address in addresses])
        if self.place in places and await self._answers(self.place):
            return self.place
        others = [place for place in places if place != self.place]
        alive = await asyncio.gather(*map(self._answers, others))
        return next((place for place, answers in zip(others, alive, strict=True) if answers), None)

    async def _answers(self, place: Place) -> bool:
        address, port = place
        if not await self._asks.probe.answers(address, f"api-int.{self._domain}", port):
            return False
        known = await self._asks.names.addresses(address, f"{dnsmasq.LOOP}.{self._domain}", Family.IPV4, port)
        if LOCALHOST in known:
            self._refuse(port, f"{self._not_asked(port)}: it asks this node's DNS, which would ask it", LOOP_REMEDY)
        return LOCALHOST not in known

    def _believed(self, places: list[Place]) -> list[Place]:
        """Return the places where all servers are believed; none where the kernel does not say who listens."""
        try:
            sockets, services = self._asks.sockets.udp(dnsmasq.CLUSTER_PORTS), self._asks.sockets.services()
        except Unavailable as error:
            self._refuse(0, f"No server of this node is asked for names of {self._domain}: {error.cause}", TRUST_REMEDY)
            return []
        found = []
        for place in places:
            here = dnsmasq.receivers(place, sockets)
            doubtful = [one for one in here if not dnsmasq.is_believed(one, services, self._trust)]
            if doubtful:
                whose = f"a socket on {place[0]}, of user {doubtful[0].uid}, is of no service of systemd"
                self._refuse(place[1], f"{self._not_asked(place[1])}: {whose}", TRUST_REMEDY)
            elif here:
                found.append(place)
        return found

    def _not_asked(self, port: int) -> str:
        return f"A server on port {port} of this node is not asked for names of {self._domain}"

    def _refuse(self, port: int, cause: str, remedy: str) -> None:
        if port not in self._refused:
            self._refused.add(port)
            log.warning(cause, message=Message.HOSTED_PROBLEM, cause=cause, remedy=remedy)


# Does dnsmasq answer, and with the right configuration?

UNIT = model.UNITS[Service.DNSMASQ]
CONFIGURATION = model.TEXTS[Service.DNSMASQ]
PORT = 53
LOOK_SECONDS = 1.0
NAMELESS_SECONDS = 3.0
"""How long dnsmasq may run without a name on the bus: it takes the name when it starts."""


@frozen
class NodeDnsEdges:
    """Everything outside that DNS of this node needs."""

    files: Files
    host: Host
    kernel: Kernel
    clock: Clock
    probe: ResolverProbe
    texts: ConfigurationFiles
    units: ServiceUnits
    dnsmasq: Dnsmasq
    guard: RedirectTable
    caches: CacheFiles
    api_int: ApiIntFile
    stacks: OtherStacks
    sockets: Sockets
    names: NameLookup
    ovsdb: Ovsdb


class NodeDns:
    """dnsmasq of this node."""

    def __init__(self, edges: NodeDnsEdges, settings: Settings) -> None:
        """*settings* say whether this node has one at all."""
        self._edges = edges
        self._settings = settings
        self._options = options_of(settings)
        self._given: tuple[str | None, dnsmasq.Servers] = (None, ())
        """The process that was given servers last, and these."""
        asks = Asks(edges.probe, edges.names, edges.sockets)
        self._cluster = ClusterDns(asks, self._options.cluster_domain, settings.hosted.cluster_dns)
        self._owed = OwedRestart(edges.texts)
        self._disk = OnDisk(edges.caches, edges.api_int, self._options)
        self._links = OutsideLinks(edges.ovsdb, edges.clock)
        self._restarts = Restarts()
        self._nameless = NEVER
        """Since when dnsmasq runs without a name on the bus."""
        self._renewals = Restarts()
        self._rules = ""
        self._logged = ""
        self.stuck: Problem | None = None
        """What the last look found that keeps dnsmasq from answering until an administrator has done something."""

    @property
    def is_wanted(self) -> bool:
        """Whether this node answers names itself, by the settings alone."""
        builtin = self._settings.stages[StageName.HOSTED_SERVICES] == "builtin"
        return builtin and why_disabled(self._options) is None

    async def look(self, facts: Facts, known: tuple[IPAddress, ...]) -> DnsLook:
        """See to dnsmasq; *known* are the DNS servers beside this node's own addresses. Never raises."""
        found = await self._looked(facts, known)
        self.stuck = found.problem if found.lasts else None
        return found

    async def _looked(self, facts: Facts, known: tuple[IPAddress, ...]) -> DnsLook:
        try:
            if not self.is_wanted:
                await self._leave()
                return DnsLook()
            if facts.selection is None or not facts.selection.node_ips:
                return await self._prepare(facts)
            snapshot = self._edges.kernel.snapshot()
            given = await self._judged(facts, snapshot)
            if len(given.inputs.here.places) < len(facts.selection.node_ips):
                # As while a node IP moves to br-ex: dnsmasq, which listens on it, stays as it is.
                await self._give_servers(await self._edges.dnsmasq.owner(), known, given.inputs)
                return DnsLook(seconds=LOOK_SECONDS)
            return await self._serve(given, known, await self._links.look(given.inputs.here, snapshot))
        except (PublishFailed, Unavailable, UnitFailed) as error:
            return DnsLook(problem=dns.of(error.cause, error.remedy), seconds=LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001  (resolv.conf is kept true whatever is wrong with dnsmasq)
            return DnsLook(problem=self._unforeseen(error), seconds=dnsmasq.ALIVE_SECONDS)

    def _unforeseen(self, error: Exception) -> Problem:
        """Return *error*, which nothing here has caught, as a problem; its traceback is logged once."""
        known = named(error, "the look at DNS of this node")
        if self._logged != known.cause:
            self._logged = known.cause
            log.error(known.cause, message=known.message, stage=StageName.RESOLV_PREPENDER.value, exc_info=error)
        return dns.of(known.cause, known.remedy)

    async def judged(self, facts: Facts) -> NodePlan:
        """Return this node's plan as its disk gives it. Raises NodenetError."""
        return await self._judged(facts, self._edges.kernel.snapshot())

    async def _judged(self, facts: Facts, snapshot: Snapshot) -> NodePlan:
        return await self._disk.judged(self._name(facts), facts, snapshot)

    def _name(self, facts: Facts) -> str:
        return self._settings.kubernetes.node_name or facts.hostname or self._edges.host.name().lower()

    async def waits(self, facts: Facts) -> bool:
        """Return whether another stack has to go first. Raises Unavailable, PublishFailed."""
        return why_waiting(Service.DNSMASQ, self._others((await self.judged(facts)).inputs), ()) is not None

    async def _serve(self, given: NodePlan, known: tuple[IPAddress, ...], outside: tuple[str, ...]) -> DnsLook:
        inputs, made, edges = given.inputs, given.plan, self._edges
        if Service.DNSMASQ not in made.texts:
            return DnsLook(note="DNS is not served")
        text = made.texts[Service.DNSMASQ] + await edges.dnsmasq.further()
        texts: dict[PurePath, str] = {CONFIGURATION: text, model.HOSTS: made.hosts}
        if self._settings.hosted.mode is HostedMode.RENDER:
            edges.texts.write(texts)
            return DnsLook(note="dnsmasq's configuration is written and nothing is started (hosted.mode)")
        running = await edges.units.state(UNIT)
        if (blocked := await self._blocked(inputs, running)) is not None:
            return blocked
        changed = edges.texts.write(texts)
        self._owed.note(changed=CONFIGURATION in changed)
        if not running.is_up:
            look = await self._start(running)
            unguarded = await self._guard_port(inputs, outside)  # it takes less time than dnsmasq to start
            return replace(look, problem=look.problem or unguarded)
        unguarded = await self._guard_port(inputs, outside)
        return await self._keep(inputs, known, unguarded, hosts_differ=model.HOSTS in changed)

    async def _keep(
        self, inputs: Inputs, known: tuple[IPAddress, ...], unguarded: Problem | None, *, hosts_differ: bool
    ) -> DnsLook:
        """See that a dnsmasq which runs has read what is on the disk, and asks the present servers."""
        edges = self._edges
        self._restarts = Restarts()
        if self._owed.is_owed:
            await edges.units.restart(UNIT)
            self._owed.done()
            return DnsLook(problem=unguarded, seconds=LOOK_SECONDS)
        owner = await edges.dnsmasq.owner()
        if owner is None:
            return DnsLook(problem=await self._renew() or unguarded, seconds=LOOK_SECONDS)
        self._nameless, self._renewals = NEVER, Restarts()
        if hosts_differ:
            await edges.dnsmasq.read_hosts()
        await self._give_servers(owner, known, inputs)
        again = dnsmasq.ALIVE_SECONDS if self._cluster.place else dnsmasq.SEARCH_SECONDS
        return DnsLook(problem=unguarded, seconds=again)

    async def _prepare(self, facts: Facts) -> DnsLook:
        """Start dnsmasq for likely node IPs while they are waited for: of the last boot, or in the subnets of VIPs.

        It listens on an address as soon as a link has it (bind-dynamic), mostly before that is known to be the node IP.
        Other node IPs mean a restart. What fails is seen with the node IP.
        """
        if self._settings.hosted.mode is HostedMode.SYSTEMD:
            with suppress(PublishFailed, Unavailable, UnitFailed):
                running = await self._edges.units.state(UNIT)
                ips = self._last_node_ips() or likely(self._options.api_vips, self._edges.kernel.snapshot())
                if ips and not running.is_up and not running.is_settling:
                    given = await self._disk.judged_at(expected(self._name(facts), ips))
                    await self._serve(given, (), ())  # every link is outside: no pod runs yet
        return DnsLook()

    def _last_node_ips(self) -> tuple[IPAddress, ...]:
        try:
            return last_published.parse(self._edges.files.read(last_published.SELECTION) or b"", "").addresses
        except (ValueError, RecursionError):
            return ()

    async def _renew(self) -> Problem | None:
        """Restart a dnsmasq that has no name on the bus: it does not connect again to a bus that was restarted."""
        now = self._edges.clock.boottime()
        self._nameless = self._nameless.holds(now)
        if self._nameless.left(now, NAMELESS_SECONDS) > 0 or self._renewals.left(now) > 0:
            return dns.nameless() if self._renewals.failures else None
        self._renewals = self._renewals.after_start(now)
        await self._edges.units.restart(UNIT)
        return dns.nameless() if self._renewals.failures > 1 else None

    async def _blocked(self, inputs: Inputs, running: Running) -> DnsLook | None:
        """Return what keeps dnsmasq from running: another stack, which goes first, or another program on its port."""
        others = self._others(inputs)
        if waits := why_waiting(Service.DNSMASQ, others, ()):
            await self._stop(running)
            return DnsLook(note=f"dnsmasq waits: {waits}", seconds=dnsmasq.SEARCH_SECONDS, waits=True)
        if not running.is_up and (taken := why_waiting(Service.DNSMASQ, others, (PORT,))):
            return DnsLook(problem=dns.taken(taken), seconds=dnsmasq.SEARCH_SECONDS, lasts=True)
        if running.missing and not running.is_up:
            return DnsLook(problem=dns.missing(running.missing), seconds=dnsmasq.SEARCH_SECONDS, lasts=True)
        return None

    def _others(self, inputs: Inputs) -> Others:
        """Return what else serves DNS here; a server on another address, as 127.0.0.53, is not in the way."""
        found = self._edges.stacks.look((UNIT,), (PORT,))
        ours = (LOCALHOST, *inputs.here.addresses)
        return replace(found, listeners=tuple(one for one in found.listeners if one.is_at(ours)))

    async def _start(self, running: Running) -> DnsLook:
        """Start dnsmasq unless systemd is about to; one that systemd gave up is started with growing pauses."""
        now = self._edges.clock.boottime()
        if running.is_settling:
            return DnsLook(seconds=LOOK_SECONDS)
        # Also one that is inactive: the end of its start job wakes this look, and a condition of the unit may not hold.
        failed = running.active == "failed" or not running.is_loaded or self._restarts.failures > 0
        if (left := self._restarts.left(now)) > 0:
            return DnsLook(problem=dns.down(running), seconds=left)
        self._restarts = self._restarts.after_start(now)
        await self._edges.units.start(UNIT)
        self._owed.done()
        return DnsLook(problem=dns.down(running) if failed else None, seconds=LOOK_SECONDS)

    async def _guard_port(self, inputs: Inputs, outside: tuple[str, ...]) -> Problem | None:
        """Refuse queries from outside; return why that failed, if it did: DNS of the node works in any case."""
        wanted = dns.rules(inputs.here, outside)
        try:
            if wanted != self._rules or not await self._edges.guard.is_there():
                await self._edges.guard.put(wanted)
                self._rules = wanted
        except Unavailable as error:
            self._rules = ""
            return dns.of(f"Hosts outside can use this node's DNS: {error.cause}", error.remedy)
        return None

    async def _give_servers(self, owner: str | None, known: tuple[IPAddress, ...], inputs: Inputs) -> None:
        """Let dnsmasq ask the present servers: at its start, and whenever they change."""
        if owner is None:
            return
        another = False
        if self._given[0] == owner:  # not before its first servers: that would delay them
            another = await self._cluster.look((LOCALHOST, *inputs.here.addresses))
        wanted = dnsmasq.servers(known, self._cluster.place, inputs)
        if self._given != (owner, wanted):
            await self._edges.dnsmasq.set_servers(wanted)
            if another:  # what the one before has said is forgotten: it may have been another program's word
                await self._edges.dnsmasq.read_hosts()
            if self._given[0] != owner:
                where = " and ".join(map(str, inputs.here.addresses))
                asked = ", ".join(one[0] for one in wanted if one[0] != dnsmasq.NO_SERVER)
                text = f"dnsmasq answers on {where}; it asks {asked or 'no other server'}"
                log.info(text, stage=StageName.RESOLV_PREPENDER.value)
            self._given = (owner, wanted)

    async def _leave(self) -> None:
        """Stop what an earlier look of this boot has started; where nothing was, nothing is asked."""
        if self._edges.files.read(CONFIGURATION) is None:
            return
        await self._edges.units.stop(UNIT)
        await self._edges.guard.remove()
        self._rules = ""
        self._edges.texts.remove((CONFIGURATION, model.HOSTS, model.OWED_RESTART))

    async def _stop(self, running: Running) -> None:
        if running.is_up or running.is_settling:
            await self._edges.units.stop(UNIT)
        if self._rules:
            await self._edges.guard.remove()
            self._rules = ""
