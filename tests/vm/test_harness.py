"""Do the VMs keep the lab's promises? Real boots without the product."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import Lab, LabError, Lan, host
from vm.harness import Frozen, Trunk, Vm, thaw
from vm.harness.kernel import payload


def remains(lab: str) -> list[str]:
    """Whatever on this machine still carries that lab's name."""
    places = [Path("/run/netns"), Path("/run/nodenet-lab"), host.cgroups()]
    names = [str(path) for place in places for path in place.iterdir()]
    processes = [path.read_bytes().decode() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    wanted = (f"nodenet-{lab}-", f"nodenet-lab-{lab}", f"nodenet-lab/{lab}")
    return [line for line in names + processes if any(word in line for word in wanted)]


def test_cables_go_in_and_out_and_a_vlan_reaches_its_own_lan(lab: Lab, vm: Vm, lan: Lan) -> None:
    """A VM starts with none; what NetworkManager then does is what it does on any node."""
    trunk = Trunk(lab, lan, 100)
    assert vm.addresses() == []
    vm.plug("eth0", lan)
    vm.wait_until("ip -4 address show dev eth0 | grep 10.88.0.1")
    (address,) = vm.addresses()
    lan.run("ping", "-c1", "-W5", address)
    vm.set_carrier("eth0", up=False)
    vm.wait_until("grep -x 0 /sys/class/net/eth0/carrier")
    vm.set_carrier("eth0", up=True)
    vm.wait_until("grep -x 1 /sys/class/net/eth0/carrier")
    # Tagged frames go to the VLAN's LAN, and large packets with checksums made by nobody arrive.
    vm.run("nmcli connection add type vlan con-name v ifname eth0.100 dev eth0 id 100 ipv6.method disabled")
    vm.wait_until("ip -4 address show dev eth0.100 | grep 10.88.1.1")
    (address,) = vm.addresses("eth0.100")
    trunk.access.run("ping", "-c1", "-W5", "-M", "do", "-s", "1472", address)
    vm.run(["ping", "-c1", "-W5", str(trunk.access.gateway4)])


def test_copies_know_nothing_of_each_other(lab: Lab, frozen_vm: Frozen) -> None:
    """What one writes, the next does not see; the clock is right in each; errors carry console and journal."""
    first = thaw(lab, frozen_vm)
    first.write("/var/lib/mark", "")
    first.run("sync")
    first.remove()
    lab.nodes.clear()
    second = thaw(lab, frozen_vm)
    assert second.run("test -e /var/lib/mark", check=False).returncode == 1
    assert second.run(["date", "+%F %H"]).stdout == host.call(["date", "+%F %H"])
    with pytest.raises(LabError, match=r"(?s)exit code 3.*--- console of .*--- journal of .*systemd"):
        second.run("exit 3")
    with pytest.raises(LabError, match=r"still running after"):
        second.run(["sleep", "60"], timeout=0.1)
    assert second.run("echo the late answer is not this one").stdout == "the late answer is not this one\n"


def test_a_closed_lab_leaves_nothing_of_a_vm(frozen_vm: Frozen) -> None:
    """No process, namespace, cgroup or file."""
    with Lab() as own:
        name = own.state.name
        lan = own.lan()
        Trunk(own, lan, 100)
        thaw(own, frozen_vm).plug("eth1", lan)
        assert any("qemu" in line for line in remains(name))
    assert remains(name) == []


@pytest.mark.parametrize("image", [b"\0" * 0x300, b"\0" * 0x202 + b"HdrS" + b"\0" * 0x1000])
def test_a_kernel_of_another_kind_is_refused(image: bytes) -> None:
    """Not a bzImage, and one that is packed otherwise."""
    with pytest.raises(LabError, match="kernel"):
        payload(image)
