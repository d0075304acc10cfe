"""Open vSwitch, systemd and the resolver as the daemon reaches them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.state import Service
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.core.open_vswitch import OvsBridge, OvsPort
from nodenet.core.probes.questions import Answer
from nodenet.core.resolver import Texts
from nodenet.core.settings.model import ProbeTarget
from nodenet.core.unit_stage import Unit
from simulation.edge import STALLED_SECONDS, Edge
from simulation.systemd import UNITS

CARRIED_OUT_SECONDS = 0.02
"""What ovs-vswitchd takes for another number."""


@dataclass(slots=True)
class Ovsdb(Edge):
    def answers(self) -> bool:
        self.life.step("ovsdb.answers")
        return self.world.ovs.database_up

    async def _ask(self, name: str, seconds: float = 0.005) -> None:
        await self.life.cross(name, seconds)
        if not self.world.ovs.database_up or self.world.disk.closed:
            raise Unavailable("Open vSwitch's database cannot be reached")

    async def prove_alive(self, seconds: float = 5.0) -> None:
        await self._ask("ovsdb.prove_alive")
        if not self.world.ovs.switch_up:
            await self.life.cross("ovsdb.prove_alive.waits", seconds)
            if not self.world.ovs.switch_up:
                raise Unavailable("ovs-vswitchd does not carry out what the database says")

    async def has_kernel_datapath(self) -> bool:
        await self._ask("ovsdb.has_kernel_datapath")
        return self.world.ovs.has_datapath

    async def bridges(self) -> tuple[OvsBridge, ...]:
        await self._ask("ovsdb.bridges")
        return self.world.ovs.seen(frozenset(self.world.kernel.links))

    async def add_port(self, bridge: str, port: OvsPort) -> None:
        raise NotImplementedError(f"no program has patch ports here, as {port} on {bridge}")

    async def request_ofport(self, interface: str, number: int) -> None:
        await self._ask("ovsdb.request_ofport")
        if interface in self.world.ovs.numbers:
            self.world.ovs.asked_numbers[interface] = number
            self.world.after_in_boot(CARRIED_OUT_SECONDS, lambda: self._carry_out(interface))

    def _carry_out(self, interface: str) -> None:
        if interface in self.world.ovs.numbers:
            self.world.ovs.carry_out(interface)

    async def remove_bridge(self, name: str) -> bool:
        await self._ask("ovsdb.remove_bridge")
        row = self.world.ovs.rows.get(name)
        if row is None:
            return False
        self.world.rules.bridge_removed(row)
        del self.world.ovs.rows[name]
        self.world.kernel.remove(name)
        self.world.ovs.touch()
        return True

    async def remove_port(self, bridge: str, name: str) -> bool:
        await self._ask("ovsdb.remove_port")
        row = self.world.ovs.rows.get(bridge)
        if row is None or name not in row.ports:
            return False
        if not row.ports[name][1]:
            self.world.rules.blame("P5", f"the port {name} of another program was removed from {bridge}")
        del row.ports[name]
        self.world.ovs.touch()
        return True

    async def mark_bridge(self, name: str, key: str, value: str) -> None:
        await self._ask("ovsdb.mark_bridge")
        if row := self.world.ovs.rows.get(name):
            row.external_ids[key] = value

    async def park_ovn(self) -> bool:
        await self._ask("ovsdb.park_ovn")
        before, self.world.ovs.parked = self.world.ovs.parked, True
        return not before


@dataclass(slots=True)
class SystemdEdge(Edge):
    async def _ask(self, name: str) -> bool:
        """Return whether systemd answers; it has a socket of its own, and needs no bus."""
        await self.life.cross(name, 0.003)
        if self.world.systemd.silent:
            await self.life.cross(f"{name}.silent", STALLED_SECONDS)
        return not self.world.systemd.silent

    async def reload(self) -> None:
        answers = await self._ask("systemd.reload")
        if not answers or self.world.systemd.refuses_reload:
            raise PublishFailed("systemd did not read its units again", remedy="Run `systemctl daemon-reload`")
        await self.life.cross("systemd.reloading", 0.1)
        if not self.world.systemd.deaf:
            self.world.systemd.read()

    async def any_runs(self, units: Sequence[str]) -> bool | None:  # noqa: ARG002
        return self.world.systemd.kubelet_runs if await self._ask("systemd.any_runs") else None

    async def environment(self, unit: str) -> UnitEnvironment | None:
        if unit not in UNITS and not self.world.systemd.silent:
            return None  # at once: kubelets of other kinds are no part of this world
        if not await self._ask("systemd.environment"):
            raise Unavailable("systemd does not answer")
        return self.world.systemd.environment(unit)

    async def service(self, name: str) -> Service | None:
        if not await self._ask("systemd.service"):
            return None
        if name == "nodenetd.service":
            return Service(active_state="active" if self.world.systemd.active else "activating")
        return Service(active_state="active" if self.world.manager.running else "activating")

    async def start_failed(self, name: str) -> str | None:  # noqa: ARG002
        await self._ask("systemd.start_failed")
        return None


@dataclass(slots=True)
class Processes(Edge):
    def environment(self, unit: str) -> Mapping[str, str] | None:
        return self.world.systemd.runs_with(unit)

    def kubelet_arguments(self, unit: str) -> Sequence[str] | None:
        """Return them as OpenShift's unit passes them."""
        running = self.world.systemd.runs_with("kubelet.service") if unit == "kubelet.service" else None
        return None if running is None else ("kubelet", f"--node-ip={running['KUBELET_NODE_IP']}")


@dataclass(slots=True)
class Resolved(Edge):
    async def runs(self) -> bool:
        await self.life.cross("resolved.runs", 0.001)
        return self.world.resolved and self.world.bus_up and not self.world.bus_stalled

    async def reload(self) -> None:
        try:
            await self.bus("resolved.reload", 0.1)
        except Unavailable as error:
            raise PublishFailed(f"systemd-resolved did not read its drop-in again: {error.cause}", remedy="") from error


@dataclass(slots=True)
class ResolverProbe(Edge):
    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:  # noqa: ARG002
        await self.life.cross("resolver.answers", 0.01)
        if self.world.kernel.place_of(address) is not None:
            return self.world.dns_answers
        segments = map(self.world.segment_of, self.world.kernel.links)
        return any(each.answers(address) for each in segments if each)  # the gateway is the DNS server too


@dataclass(slots=True)
class Targets(Edge):
    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:  # noqa: ARG002
        await self.life.cross("targets.answers", 0.001)
        return Answer.NO  # no settings of this world name one


@dataclass(slots=True)
class NameServers(Edge):
    """The simulated network has no DNS server beyond the node: none is watched."""

    def files(self) -> Texts:
        self.life.step("name_servers.files")
        return {}

    def ask(self, servers: Collection[IPAddress]) -> None:
        pass

    def answered(self) -> frozenset[IPAddress]:
        return frozenset()

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Units(Edge):
    async def unit(self, name: str) -> Unit:
        await self.bus("units.unit")
        return self.world.units.unit(name)

    async def start(self, unit: Unit) -> None:
        await self.bus("units.start")
        self.world.units.start(unit.name)

    def ended(self, unit: Unit) -> str | None:
        return self.world.units.ended.get(unit.name)


@dataclass(slots=True)
class HostedUnits(Edge):
    async def state(self, unit: str) -> Running:
        await self.bus("hosted_units.state")
        return self.world.hosted.state(unit)

    async def start(self, unit: str) -> None:
        await self.bus("hosted_units.start")
        self.world.hosted.start(unit)

    async def stop(self, unit: str) -> None:
        await self.bus("hosted_units.stop")
        self.world.hosted.stop(unit)

    async def reload(self, unit: str) -> None:
        await self.bus("hosted_units.reload")
        self.world.hosted.start(unit)

    async def restart(self, unit: str) -> None:
        await self.bus("hosted_units.restart")
        self.world.hosted.start(unit)
