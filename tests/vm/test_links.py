"""Does libnmstate move a node's address to br-ex on the kernel's datapath, whatever the link below is made of?

Without the daemon: what fails here is not ours to mend, only to work around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import Lab, eventually
from nmstate_call import call
from story import checkpoints
from vm.harness import Vm
from vm.standing import Pinger, datapath_of_br_ex, standing
from vm.uplinks import FAIL_OVER_MAC, NIC, VLAN_ON_BOND, Uplink, br_ex, document, lay, wait_for_address

LAYERS = (NIC, FAIL_OVER_MAC, VLAN_ON_BOND)
"""A plain link, a static bond whose MAC changes, everything at once; the other uplinks are mixtures of these."""
VRF = document("""\
- name: blue
  type: vrf
  state: up
  vrf: {port: [eth1], route-table-id: 100}
- name: eth1
  type: ethernet
  state: up
  ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}
""")


@pytest.mark.parametrize("uplink", LAYERS, ids=str)
def test_br_ex_takes_over(
    uplink: Uplink, lab: Lab, vm: Vm, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Address, MAC (unless nobody may pin it), gateway and nameservers stay; nothing is left to do, no checkpoint."""
    serving = lay(uplink, lab, vm)
    if uplink.document:
        call(vm, "apply", uplink.document)
    wait_for_address(vm, uplink.link, serving)
    neighbours = vrf(vm) if uplink is NIC else ""
    before = standing(vm, uplink.link)
    wanted = br_ex(uplink, before.mac)
    with Pinger(serving, before.addresses[0], tmp_path / "ping") as pinger:
        eventually(pinger.answers, "the first answer")
        call(vm, "apply", wanted)
        wait_for_address(vm, "br-ex", serving)
        known = pinger.answers()
        eventually(lambda: pinger.answers() > known, "an answer from br-ex")
    record_property("outage", f"{pinger.outage:.1f} s")
    after = standing(vm, "br-ex")
    assert after == (before if uplink.own_mac else replace(before, mac=after.mac))
    assert datapath_of_br_ex(vm) == "openvswitch"
    assert not any(call(vm, "generate_differences", wanted, call(vm, "show")).values())
    assert checkpoints(vm) == "ao 0"
    if uplink is NIC:
        assert tables(vm) == neighbours
    if uplink is VLAN_ON_BOND:
        vm.reboot()
        wait_for_address(vm, "br-ex", serving)
        assert standing(vm, "br-ex") == after


def vrf(vm: Vm) -> str:
    """Make a VRF over another link; returns how it is."""
    call(vm, "apply", VRF)
    return tables(vm)


def tables(vm: Vm) -> str:
    """Return the VRF, its port and its routes."""
    return vm.run("ip -br link show master blue; ip route show table 100; ip -br address show eth1").stdout
