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
from vm.uplinks import VLAN_ON_BOND, Uplink, br_ex, lay, wait_for_address

LAYERS = (VLAN_ON_BOND,)
"""Everything at once; `test_bridge.py` has the others, with the daemon."""


@pytest.mark.parametrize("uplink", LAYERS, ids=str)
def test_br_ex_takes_over(
    uplink: Uplink, lab: Lab, vm: Vm, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Address, MAC (unless nobody may pin it), gateway and nameservers stay; nothing is left to do, no checkpoint."""
    serving = lay(uplink, lab, vm)
    if uplink.document:
        call(vm, "apply", uplink.document)
    wait_for_address(vm, uplink.link, serving)
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
