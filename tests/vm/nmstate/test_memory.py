"""Processes of nodenetd that the kernel kills for lack of memory, during an apply after READY."""

from __future__ import annotations

from harness import Dhcp, Ipv6, Lan
from story import mtu, node_file, nothing_left, settle, with_mtu
from vm.harness import Vm
from vm.nmstate.test_last_good import NO_BRIDGE, PATIENCE

GROUP = "/sys/fs/cgroup/system.slice/nodenetd.service"
LITTLE = f"echo $(($(awk '/^anon /{{print $2}}' {GROUP}/memory.stat) + 6000000))"
"""The limit, in bytes: what nodenetd needs, and less than the process of libnmstate needs beside it."""


def test_a_process_that_the_kernel_kills_for_its_memory(lan: Lan, vm: Vm) -> None:
    """The node keeps its address; with memory again the file is applied, and nothing is left behind."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    vm.plug("eth0", lan)
    for name, text in {node_file("worker-0.yml"): with_mtu(1400), **NO_BRIDGE}.items():
        vm.write(name, text)
    vm.run("systemctl start nodenetd", timeout=PATIENCE)
    before = settle(vm, timeout=PATIENCE)["node_ips"]
    vm.run(f"systemctl set-property --runtime nodenetd MemoryMax=$({LITTLE})", timeout=60)
    vm.write(node_file("worker-0.yml"), with_mtu(1410))
    vm.run("systemctl reload --no-block nodenetd", timeout=60)
    vm.wait_until("journalctl -k | grep -q 'Memory cgroup out of memory: Killed process'", timeout=PATIENCE)
    vm.run("systemctl set-property --runtime nodenetd MemoryMax=512M", timeout=60)
    vm.wait_until("nodenetctl reload --wait", timeout=PATIENCE)
    document = settle(vm, timeout=PATIENCE)
    assert (document["health"], document["node_ips"], mtu(vm)) == ("ok", before, 1410)
    nothing_left(vm)
