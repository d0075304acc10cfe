"""The nodeip stage over fakes, for its tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeKernel, FakeManager, FakeProfiles, FakeSystemd
from nodenet.core.boot.outcome import Done, Facts, Outcome, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.patience import MOST_SECONDS
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import PolicyReading
from nodenet.core.node_ip.published_files import KUBELET_DROP_IN, UnitEnvironment
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.node_ip.stage import NodeipStage, Waits

ETH0 = Link(2, "eth0", mac="52:54:00:00:00:01")
V4 = Address(ip_address("192.0.2.5"), 24, "eth0")
OTHER = Address(ip_address("192.0.2.6"), 24, "eth0")
V6 = Address(ip_address("2001:db8::5"), 64, "eth0")
LINK_LOCAL = Address(ip_address("fe80::5"), 64, "eth0")
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", ip_address("192.0.2.1")),), 100)
DEFAULT6 = Route(ip_network("::/0"), (NextHop("eth0", ip_address("fe80::1")),), 1024)
PRIMARY = "/run/nodeip-configuration/primary-ip"
KUBELET = str(KUBELET_DROP_IN)


def host(*addresses: Address) -> Snapshot:
    return Snapshot((ETH0,), addresses, (DEFAULT, DEFAULT6))


@dataclass
class Rig:
    """The stage over fakes."""

    kernel: FakeKernel = field(default_factory=FakeKernel)
    files: FakeFiles = field(default_factory=FakeFiles)
    systemd: FakeSystemd = field(default_factory=FakeSystemd)
    clock: FakeClock = field(default_factory=FakeClock)
    manager: FakeManager = field(default_factory=FakeManager)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    node_ip_wait: float = 0.0
    wishes: PolicyReading = field(default_factory=lambda: PolicyReading(Policy(families=(Family.IPV4,))))

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin as a daemon that knows nothing but its files."""
        presence = NetworkManagerStarter(self.manager, self.systemd, self.clock)
        waits = Waits(self.clock, self.profiles, self.node_ip_wait)
        edges = (self.kernel, self.files, self.systemd, self.clock, presence, waits)
        self.stage = NodeipStage(*edges, lambda: self.wishes, BOOT_ID)

    def reboot(self) -> None:
        self.files.content = {path: content for path, content in self.files.content.items() if path[:5] != "/run/"}
        self.restart()

    async def attempt(self, facts: Facts | None = None, request: Request = NOTHING) -> Outcome:
        return await self.stage.attempt(facts or Facts(), request)

    async def give_up(self) -> Rig:
        """Let the minute pass in which the node IPs of a record without NIC are waited for."""
        outcome = await self.attempt()
        assert isinstance(outcome, Waiting), outcome
        assert "the last node IP" in outcome.reason
        self.clock.now += MOST_SECONDS
        return self

    async def published(self, facts: Facts | None = None, request: Request = NOTHING) -> Facts:
        """Publish, and return the facts."""
        outcome = await self.attempt(facts, request)
        assert isinstance(outcome, Done), outcome
        return outcome.facts

    def with_units(self) -> Rig:
        """Let kubelet.service and crio.service be there: their environment is read back."""
        self.systemd.units = {unit: UnitEnvironment({}) for unit in ("kubelet.service", "crio.service")}
        self.systemd.disk = self.files.content
        self.systemd.read()
        return self
