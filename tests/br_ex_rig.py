"""The configure-ovs stage over fakes, on a node of the fixtures."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface, ip_address
from typing import Any

from br_ex_cases import CASES, facts_of
from fakes import (
    BOOT_ID,
    FakeClock,
    FakeDnsManager,
    FakeFiles,
    FakeKernel,
    FakeManager,
    FakeNeighbours,
    FakeNmstate,
    FakeOvsdb,
    FakeProfiles,
    FakeSysctls,
    FakeSystemd,
    stage_edges,
)
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Facts, Outcome
from nodenet.core.boot.stage_state import Request
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Lease4, Profile
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Datapath, Settings
from nodenet.loop.attempts import behind_undo
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.apply.undo import Undo
from nodenet.stages.br_ex.verify import Verifier
from nodenet.stages.br_ex.wiring import BridgeWiring


def _with_server(device: Device) -> Device:
    """Return a device whose lease tells a name server."""
    return replace(device, lease4=replace(device.lease4, servers=("10.88.0.1",))) if device.lease4 else device


LEASE = StaticLease("192.0.2.5", Moment(BOOT_ID, 100.0, 1_700_000_100.0), 3600.0)
NODE_IP = ip_address("10.88.0.113")
GATEWAY = ip_address("10.88.0.1")
MAC = "52:54:00:00:00:07"
FLAG = "/run/nodeip-configuration/br-ex-up"
HINT = "/var/lib/ovnk/iface_default_hint"


@dataclass
class Rig:
    """The stage over fakes, on a node of the fixtures."""

    case: str = "dhcp4"
    server: IPAddress | None = NODE_IP
    """What the DHCP server gives the bridge."""
    files: FakeFiles = field(default_factory=FakeFiles)
    manager: FakeManager = field(default_factory=FakeManager)
    dns: FakeDnsManager = field(default_factory=FakeDnsManager)
    nmstate: FakeNmstate = field(default_factory=lambda: FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    ovsdb: FakeOvsdb = field(default_factory=FakeOvsdb)
    clock: FakeClock = field(default_factory=FakeClock)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    sysctls: FakeSysctls = field(default_factory=FakeSysctls)
    neighbours: FakeNeighbours = field(default_factory=lambda: FakeNeighbours({GATEWAY}))
    kernel: FakeKernel = field(default_factory=FakeKernel)
    systemd: FakeSystemd = field(default_factory=FakeSystemd)
    settled: frozenset[str] = frozenset()
    boot_id: str = BOOT_ID
    vips: tuple[IPAddress, ...] = ()

    def __post_init__(self) -> None:
        facts = facts_of(CASES / self.case)
        self.nmstate.shown = dict(facts.state)
        self.ovsdb.held = facts.ovs
        self.devices, self.known = tuple(map(_with_server, facts.devices)), facts.profiles
        self.node_ips = facts.node_ips or (NODE_IP,)
        self.place(facts.node_ip_link or "eth0")
        self.nmstate.during_apply = lambda: self.place("br-ex")
        edges = stage_edges(
            files=self.files,
            manager=self.manager,
            dns=self.dns,
            nmstate=self.nmstate,
            ovsdb=self.ovsdb,
            clock=self.clock,
            profiles=self.profiles,
            sysctls=self.sysctls,
            neighbours=self.neighbours,
            kernel=self.kernel,
            systemd=self.systemd,
            boot_id=self.boot_id,
        )
        self.verifier = Verifier(self.kernel, self.profiles, self.neighbours, 0.05, 0.05)
        settings = Settings(bridge_datapath=Datapath.NETDEV, api_vips=self.vips)
        wiring = BridgeWiring(edges, settings, self.verifier)
        self.maker, self.repairer, self.remover = wiring.maker, wiring.repairer, wiring.remover
        self.stage = wiring.stage()
        self.nodeip = wiring.leases_first(self.stage)
        self.recovery = wiring.recovery(Undo(edges))
        self.store = edges.store

    async def look(self, facts: Facts) -> Outcome:
        """Return the outcome of an attempt, as the loop makes one."""
        return await behind_undo(self.recovery, self.stage, facts, Request())

    def place(self, link: str) -> None:
        """Let *link* have the node IP; a bridge gets what the server gives."""
        self.kernel.now = Snapshot(addresses=tuple(Address(address, 24, link) for address in self.node_ips))
        devices = self.devices
        if link == "br-ex":
            lease = Lease4(IPv4Interface(f"{self.server}/24")) if self.server else None
            bridge = Device(
                "br-ex", "ovs-interface", profile=Profile("u-br-ex", "br-ex-if", "ovs-interface"), lease4=lease
            )
            devices = (*devices, Device("br-ex", "ovs-bridge"), bridge)
        self.profiles.found = Inventory(devices, self.known, ovs=True, settled=self.settled)

    def rename_uplink(self) -> None:
        """Let the NIC below br-ex be called ens7, before NetworkManager is ready."""
        uplink = Profile("u-eth0", "uplink", "802-3-ethernet", "eth0")
        port = Profile("u-port", "eth0-port", "ovs-port", "eth0")
        named = {"interface-name": ["variant", "s", ["plain", "eth0"]]}
        kept = KeptProfile("u-eth0", "uplink", "", in_memory=True, settings={"connection": named})
        record = BridgeRecord({"br-ex": "eth0"}, {"eth0": MAC}, (str(NODE_IP),), {"eth0": kept}, ("u-eth0",))
        self.files.content[str(BRIDGE)] = bridge_record.render(record)
        self.kernel.now = Snapshot((Link(2, "ens7", mac=MAC), Link(3, "br-ex", mac=MAC)))
        nic, bridge = Device("ens7", "ethernet", mac=MAC), Device("br-ex", "ovs-interface", mac=MAC)
        self.profiles.found = Inventory((nic, bridge), (uplink, port))
        self.manager.status = ManagerState.STARTING

    async def attempt(self, **asked: Any) -> Outcome:
        self.clock.now += 1
        facts = Facts(selection=Selection(self.node_ips, "eth0"))
        return await self.stage.attempt(facts, Request(**asked))

    @property
    def record(self) -> BridgeRecord:
        return bridge_record.parse(self.files.content[str(BRIDGE)])

    @property
    def uplink_profile(self) -> Profile:
        return next(profile for profile in self.known if profile.link == "eth0" and profile.kind == "802-3-ethernet")

    @property
    def phase(self) -> Phase:
        return intent.parse(self.files.content[str(BRIDGE_INTENT)]).phase

    @property
    def given_back(self) -> list[Any]:
        """Return what was set on the bridge's profile."""
        return [order[2] for order in self.profiles.done if order[0] == "set"]

    def interface(self, step: int) -> dict[str, Any]:
        """Return what the document of an apply says of br-ex's own interface."""
        document = json.loads(self.nmstate.applied[step])
        found: dict[str, Any] = next(item for item in document["interfaces"] if item["type"] == "ovs-interface")
        return found


def interrupted(rig: Rig) -> None:
    """Leave what a kill in the middle of the making leaves."""
    record = BridgeRecord({"br-ex": "eth0"}, node_ips=(str(NODE_IP),), present=("u1",))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.APPLYING, "an earlier boot", 5.0))
