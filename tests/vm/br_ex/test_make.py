"""br-ex made by nodenetd on the kernel's datapath, whatever the link below is made of.

In every one: addresses, MAC, default routes, name servers and DHCP identity are after what they were before, the link
below is untouched, nothing is left over, and a second run writes nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from harness import Lab, LabError, Lan, eventually
from nmstate_call import call
from nodenet.core.settings.model import Settings
from pinger import Pinger
from story import NODE_FILES, causes, disk_times, nothing_left, settle, stage, status
from vm.harness import Vm
from vm.standing import Identity, below, datapath_of_br_ex, identity, index, profiles
from vm.uplinks import (
    ACTIVE_BACKUP,
    FAIL_OVER_MAC,
    LEGS,
    NIC,
    NO_IP,
    VLAN,
    VLAN_ON_BOND,
    VRF,
    Uplink,
    bond,
    document,
    lay,
    vrf,
    wait_for_address,
)

MADE = ("br-ex-br", "br-ex-if", "br-ex-port")
DEAD = "ovs-vswitchd has not carried out"
CHECKPOINT_SECONDS = Settings().apply_timeout
"""After so long NetworkManager takes back by itself what nobody confirmed: no outage may be longer."""
PATIENCE = 120.0
"""Seconds for what takes one or two where nothing is emulated."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A VM that stood on its plain uplink, and how it was known then."""

    vm: Vm
    uplink: Uplink
    serving: Lan
    identity: Identity
    link: object
    profiles: tuple[str, ...]

    def pinger(self) -> Pinger:
        """Return somebody who asks for the node all the time; under emulation it cannot answer much oftener."""
        return Pinger(self.serving, self.identity.addresses[0], every=0.1)

    def plain(self) -> None:
        """Assert that nobody touched it."""
        assert identity(self.vm, self.uplink.link) == self.identity
        assert below(self.vm, self.uplink.link) == self.link
        assert profiles(self.vm) == sorted(self.profiles)
        nothing_left(self.vm)

    def bridged(self) -> None:
        """Assert that br-ex carries what the uplink did, and that nothing else has changed or is left over."""
        # What a lease or an advertisement brings is told a moment after the address is there.
        with contextlib.suppress(LabError):
            eventually(lambda: self._known() == self.identity, "what the uplink had", timeout=PATIENCE, pause=0.3)
        assert self._known() == self.identity
        assert self.vm.addresses(self.uplink.link) == []
        assert below(self.vm, self.uplink.link) == self.link
        assert datapath_of_br_ex(self.vm) == "openvswitch"
        assert self.vm.run("ovs-vsctl list-ports br-ex").stdout.split() == [self.uplink.link]
        assert profiles(self.vm) == sorted([*self.profiles, *MADE, f"{self.uplink.link}-port"])
        nothing_left(self.vm)

    def _known(self) -> Identity:
        known = identity(self.vm, "br-ex")
        return known if self.uplink.own_mac else replace(known, mac=self.identity.mac)


Lay = Callable[[Uplink], Machine]
Bridge = Callable[[Uplink], Machine]


@pytest.fixture
def plain(lab: Lab, vm: Vm) -> Lay:
    """Lets a node stand on its uplink as NetworkManager makes it; nodenetd has not been started."""

    def laid(uplink: Uplink) -> Machine:
        serving = lay(uplink, lab, vm)
        if uplink.document:
            call(vm, "apply", uplink.document)
        wait_for_address(vm, uplink.link, serving)
        if not uplink.static:
            vm.wait_until(f"ip -6 address show dev {uplink.link} scope global -tentative | grep inet6")
        known = identity(vm, uplink.link), below(vm, uplink.link), tuple(profiles(vm))
        return Machine(vm, uplink, serving, *known)

    return laid


@pytest.fixture
def bridge(plain: Lay, record_property: Callable[[str, object], None]) -> Bridge:
    """Starts nodenetd on a node that stands on the plain uplink, and proves what is true of every uplink."""

    def made(uplink: Uplink) -> Machine:
        machine = plain(uplink)
        number = index(machine.vm, uplink.link)
        with machine.pinger() as pinger:
            pinger.wait_for_reply(timeout=PATIENCE)
            machine.vm.run("systemctl start nodenetd", timeout=CHECKPOINT_SECONDS)
            pinger.wait_for_reply(timeout=PATIENCE)
        assert pinger.outage < CHECKPOINT_SECONDS
        record_property("outage", f"{pinger.outage:.1f} s")
        record_property("made", proven(machine))
        assert index(machine.vm, uplink.link) == number
        assert causes(machine.vm) == []
        return machine

    return made


def proven(machine: Machine) -> str:
    """Assert that br-ex is there as it should be, and that another run leaves it so; return what nodenetd said."""
    document = settle(machine.vm)
    assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", machine.uplink.link)
    machine.bridged()
    if not machine.uplink.own_mac:
        reload(machine.vm)  # activated anew, the bond may have another leg's MAC, which is remembered with the node IP
    before = disk_times(machine.vm), audits(machine.vm)
    reload(machine.vm)
    assert (disk_times(machine.vm), audits(machine.vm)) == before
    return str(stage(document, "configure-ovs")["detail"])


def reload(vm: Vm) -> None:
    """Let nodenetd go through all stages once more."""
    vm.run("systemctl reload nodenetd", timeout=CHECKPOINT_SECONDS)


def audits(vm: Vm) -> str:
    """Return what NetworkManager was asked to change in this boot."""
    return vm.run("journalctl -b -u NetworkManager -o cat --grep 'audit: op='", check=False).stdout


def test_over_a_vlan_on_a_bond_and_over_a_true_reboot(bridge: Bridge) -> None:
    """NetworkManager brings br-ex up from its profiles; nodenetd only looks, and lets kubelet start."""
    machine = bridge(VLAN_ON_BOND)
    vm = machine.vm
    vm.run("systemctl enable nodenetd crio kubelet", timeout=60)
    written = disk_times(vm)
    vm.reboot()
    assert settle(vm, timeout=CHECKPOINT_SECONDS)["health"] == "ok"
    machine.bridged()
    assert vm.record("kubelet").addresses
    assert (disk_times(vm), audits(vm)) == (written, "")
    assert causes(vm) == []


def test_over_a_nic_beside_a_vrf_while_ovs_vswitchd_comes_and_goes(vm: Vm, bridge: Bridge) -> None:
    """The VRF is left alone; without ovs-vswitchd the node is degraded, and heals by itself when it is back."""
    call(vm, "apply", VRF)
    tables = vrf(vm)
    machine = bridge(NIC)
    assert vrf(vm) == tables
    vm.run("systemctl stop ovs-vswitchd")
    vm.wait_until(f"nodenetctl status | grep '{DEAD}'", timeout=CHECKPOINT_SECONDS)
    assert status(vm)["health"] == "degraded"
    vm.run("systemctl start ovs-vswitchd")
    vm.wait_until('nodenetctl status --json | grep -q \'"health": "ok"\'', timeout=CHECKPOINT_SECONDS)
    with machine.pinger() as pinger:
        pinger.wait_for_reply(timeout=PATIENCE)
    machine.bridged()
    told = causes(vm)
    assert len(told) == len(set(told))
    assert told[-1].startswith(DEAD), "a slow machine may tell before that its database does not answer"


def test_over_a_vlan_once_ovs_vswitchd_is_there(plain: Lay) -> None:
    """Until then the stage waits and says for what, kubelet is held back, and the plain network is not touched."""
    machine = plain(VLAN)
    vm = machine.vm
    vm.run("systemctl stop ovs-vswitchd")
    with machine.pinger() as pinger:
        pinger.wait_for_reply(timeout=PATIENCE)
        vm.run("systemctl start --no-block nodenetd")
        vm.wait_until("test -e /run/nodenet/state.json")
        eventually(lambda: held_back(vm), "the stage to say what it waits for", timeout=PATIENCE)
        machine.plain()
        pinger.wait_for_reply(timeout=PATIENCE)
        vm.run("systemctl start ovs-vswitchd")
        vm.wait_until("systemctl is-active nodenetd", timeout=CHECKPOINT_SECONDS)
    proven(machine)


def held_back(vm: Vm) -> bool:
    """Tell whether kubelet is held back for ovs-vswitchd, by the state file: nodenetctl takes long to start here."""
    document = json.loads(vm.run("cat /run/nodenet/state.json").stdout)
    bridging = stage(document, "configure-ovs")
    return not document["ready"] and bridging["status"] == "waiting" and DEAD in str(bridging["detail"])


@pytest.mark.parametrize("uplink", [ACTIVE_BACKUP, FAIL_OVER_MAC], ids=str)
def test_over_a_bond_that_fails_over(uplink: Uplink, bridge: Bridge) -> None:
    """br-ex is in reach over the other leg as well, with the MAC that belongs there."""
    machine = bridge(uplink)
    with machine.pinger() as pinger:
        pinger.wait_for_reply(timeout=PATIENCE)
        active = machine.vm.run("cat /sys/class/net/bond0/bonding/active_slave").stdout.strip()
        (other,) = set(LEGS) - {active}
        machine.vm.set_carrier(active, up=False)
        machine.vm.wait_until(f"grep -x {other} /sys/class/net/bond0/bonding/active_slave")
        pinger.wait_for_reply(timeout=PATIENCE)
    mac = machine.identity.mac if uplink.own_mac else machine.vm.mac(other)
    assert identity(machine.vm, "br-ex").mac == mac


def ofport(vm: Vm, link: str) -> str:
    """Return the OpenFlow port number of *link*."""
    return vm.run(f"ovs-vsctl get interface {link} ofport").stdout.strip()


def test_a_bond_takes_the_place_of_the_nic_and_the_nic_that_of_the_bond(
    vm: Vm, bridge: Bridge, record_property: Callable[[str, object], None]
) -> None:
    """A node file makes the bond; addresses, MAC and port number of br-ex stay.

    An emulated machine is so slow in the activation of the bond that its lost carrier is reported.
    """
    machine = bridge(NIC)
    was, first = machine.identity, ofport(vm, "eth0")
    for leg in LEGS:
        vm.plug(leg, machine.serving)
    vm.write(f"{NODE_FILES}/cluster.yml", document(bond("active-backup", "miimon: 100", NO_IP)))
    for link in ("bond0", "eth0"):
        vm.write("/etc/ovnk/default_bridge", f"{link}\n")
        with machine.pinger() as pinger:
            pinger.wait_for_reply(timeout=CHECKPOINT_SECONDS)
            vm.run("nodenetctl reload --wait", timeout=CHECKPOINT_SECONDS)
            pinger.wait_for_reply(timeout=CHECKPOINT_SECONDS)
        record_property(f"over {link}", f"silent for {pinger.outage:.2f} s")
        shown = settle(vm, timeout=CHECKPOINT_SECONDS)
        assert (shown["health"], shown["uplink"]) == ("ok", link), shown["problems"]
        assert vm.run("ovs-vsctl list-ports br-ex").stdout.split() == [link]
        assert (identity(vm, "br-ex"), ofport(vm, link)) == (was, first)
    nothing_left(vm)
