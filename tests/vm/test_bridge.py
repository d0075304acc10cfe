"""br-ex made by nodenetd on the kernel's datapath, whatever the link below is made of.

In every one: addresses, MAC, default routes, name servers and DHCP identity are after what they were before, the link
below is untouched, nothing is left over, and a second run writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness import Lab, Lan, eventually
from nmstate_call import call
from story import causes, disk_times, nothing_left, settle, stage
from vm.harness import Vm
from vm.standing import Identity, Pinger, below, datapath_of_br_ex, identity, profiles
from vm.uplinks import (
    ACTIVE_BACKUP,
    FAIL_OVER_MAC,
    LACP,
    LEGS,
    NIC,
    VLAN,
    VLAN_ON_BOND,
    VRF,
    Uplink,
    lay,
    vrf,
    wait_for_address,
)

SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
WITHOUT_BRIDGE = '[stages]\nconfigure-ovs = "skip"\n'
MADE = ["br-ex-br", "br-ex-if", "br-ex-port"]


@dataclass(frozen=True, slots=True)
class Bridged:
    """A VM with br-ex over an uplink, and how it was known before."""

    vm: Vm
    uplink: Uplink
    serving: Lan
    before: Identity
    log: Path

    def intact(self) -> None:
        """Assert that br-ex carries what the uplink did, and that nothing is left over."""
        self._wait()
        after = identity(self.vm, "br-ex")
        assert after == (self.before if self.uplink.own_mac else replace(self.before, mac=after.mac))
        assert self.vm.addresses(self.uplink.link) == []
        assert datapath_of_br_ex(self.vm) == "openvswitch"
        assert self.vm.run("ovs-vsctl list-ports br-ex").stdout.split() == [self.uplink.link]
        nothing_left(self.vm)

    def pinger(self) -> Pinger:
        """Return somebody who asks for the node all the time."""
        return Pinger(self.serving, self.before.addresses[0], self.log)

    def _wait(self) -> None:
        # What a lease or an advertisement brings is told a moment after the address is there.
        wait_for_address(self.vm, "br-ex", self.serving)
        eventually(lambda: len(identity(self.vm, "br-ex").addresses) >= len(self.before.addresses), "all addresses")


Bridge = Callable[[Uplink], Bridged]


@pytest.fixture
def bridge(lab: Lab, vm: Vm, tmp_path: Path, record_property: Callable[[str, object], None]) -> Bridge:
    """Makes br-ex by a reload on a node that stands on the plain uplink, and proves what is true of every uplink."""

    def make(uplink: Uplink) -> Bridged:
        serving = plain(uplink, lab, vm)
        made = Bridged(vm, uplink, serving, identity(vm, uplink.link), tmp_path / "ping")
        link, known = below(vm, uplink.link), profiles(vm)
        vm.run(["rm", SETTINGS])
        with made.pinger() as pinger:
            eventually(pinger.answers, "the first answer")
            vm.run("systemctl reload nodenetd", timeout=60, check=False)  # answered early where the machine is slow
            vm.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=60)
            answers = pinger.answers()
            eventually(lambda: pinger.answers() > answers, "an answer from br-ex")
        record_property("outage", f"{pinger.outage:.1f} s")
        document = settle(vm)
        record_property("made", stage(document, "configure-ovs")["detail"])
        assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", uplink.link)
        made.intact()
        assert below(vm, uplink.link) == link
        assert profiles(vm) == sorted([*known, *MADE, f"{uplink.link}-port"])
        writes_nothing(vm)
        assert causes(vm) == []
        return made

    return make


def plain(uplink: Uplink, lab: Lab, vm: Vm) -> Lan:
    """Lay the uplink and let nodenetd find the node IP on it; br-ex is left out."""
    serving = lay(uplink, lab, vm)
    if uplink.document:
        call(vm, "apply", uplink.document)
    vm.write(SETTINGS, WITHOUT_BRIDGE)
    wait_for_address(vm, uplink.link, serving)
    if not uplink.static:
        vm.wait_until(f"ip -6 address show dev {uplink.link} scope global -tentative | grep inet6")
    vm.run("systemctl start nodenetd", timeout=60)
    assert settle(vm)["health"] == "ok"
    return serving


def audits(vm: Vm) -> str:
    """Return what NetworkManager was asked to change in this boot."""
    return vm.run("journalctl -b -u NetworkManager -o cat --grep 'audit: op='", check=False).stdout


def writes_nothing(vm: Vm) -> None:
    """Assert that another reload leaves disk and NetworkManager alone."""
    before = disk_times(vm), audits(vm)
    vm.run("systemctl reload nodenetd", timeout=60)
    assert (disk_times(vm), audits(vm)) == before, vm.run("head -50 /var/lib/nodenet/selection.json").stdout


def test_over_a_nic_beside_a_vrf_while_ovs_vswitchd_comes_and_goes(vm: Vm, bridge: Bridge) -> None:
    """The VRF is left alone; without ovs-vswitchd the node is degraded, and heals by itself when it is back."""
    call(vm, "apply", VRF)
    tables = vrf(vm)
    made = bridge(NIC)
    assert vrf(vm) == tables
    vm.run("systemctl stop ovs-vswitchd")
    vm.wait_until('nodenetctl status --json | grep -q \'"health": "degraded"\'', timeout=90)
    vm.run("systemctl start ovs-vswitchd")
    vm.wait_until('nodenetctl status --json | grep -q \'"health": "ok"\'')
    with made.pinger() as pinger:
        eventually(pinger.answers, "an answer when ovs-vswitchd is back")
    made.intact()
    assert all("vSwitch" in cause or "ovs-vswitchd" in cause for cause in causes(vm))


@pytest.mark.parametrize("uplink", [LACP, VLAN], ids=str)
def test_over(uplink: Uplink, bridge: Bridge) -> None:
    """The link below is kept whole."""
    bridge(uplink)


@pytest.mark.parametrize("uplink", [ACTIVE_BACKUP, FAIL_OVER_MAC], ids=str)
def test_over_a_bond_that_fails_over(uplink: Uplink, bridge: Bridge) -> None:
    """br-ex is in reach over the other leg as well, with the MAC that belongs there."""
    made = bridge(uplink)
    with made.pinger() as pinger:
        eventually(pinger.answers, "the first answer")
        active = made.vm.run("cat /sys/class/net/bond0/bonding/active_slave").stdout.strip()
        (other,) = set(LEGS) - {active}
        made.vm.set_carrier(active, up=False)
        made.vm.wait_until(f"grep -x {other} /sys/class/net/bond0/bonding/active_slave")
        answers = pinger.answers()
        eventually(lambda: pinger.answers() > answers, "an answer over the other leg")
    mac = made.before.mac if uplink.own_mac else made.vm.mac(other)
    assert identity(made.vm, "br-ex").mac == mac


def test_over_a_vlan_on_a_bond_over_a_true_reboot(bridge: Bridge) -> None:
    """NetworkManager brings br-ex up from its profiles; nodenetd only looks. Then all can be taken back."""
    made = bridge(VLAN_ON_BOND)
    vm = made.vm
    vm.run("systemctl enable nodenetd crio kubelet", timeout=60)
    vm.reboot()
    assert settle(vm)["health"] == "ok"
    made.intact()
    assert vm.record("kubelet").addresses
    assert audits(vm) == ""
    assert causes(vm) == []
