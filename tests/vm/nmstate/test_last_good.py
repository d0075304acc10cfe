"""A node file with which the kernel panics before READY: the next boot but one is on the old file."""

from __future__ import annotations

from deaf import CAUSE, DEAF, SETTINGS, wait_deaf
from harness import Dhcp, Ipv6, Lan
from story import causes, mtu, node_file, settle, stage, with_mtu
from vm.harness import Vm

PATIENCE = 400.0
"""Seconds for what takes some where nothing is emulated."""
NO_BRIDGE = {"/etc/nodenet/nodenet.toml.d/30-lab.toml": '[stages]\nconfigure-ovs = "skip"\n'}
"""The addresses of a node with br-ex are not those of the file."""


def test_two_panics_bring_the_old_file_back(lan: Lan, vm: Vm) -> None:
    """A panic syncs nothing: what counts the boots is on the disk before the file is applied. Said on the console."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    vm.plug("eth0", lan)
    for name, text in {node_file("worker-0.yml"): with_mtu(1400), **SETTINGS, **NO_BRIDGE}.items():
        vm.write(name, text)
    vm.run("systemctl enable nodenetd", timeout=60)
    vm.run("systemctl start nodenetd", timeout=PATIENCE)
    vm.wait_until("grep -ql '\"good\": true' /var/lib/nodenet/history/*.json", timeout=60)
    vm.write(node_file("worker-0.yml"), DEAF)
    vm.run("sync")
    vm.panic()
    for _ in range(2):
        wait_deaf(vm, timeout=PATIENCE)
        vm.panic()
    document = settle(vm, timeout=PATIENCE)
    assert (document["health"], document["ready"], mtu(vm)) == ("degraded", True, 1400)
    assert document["last_error"]["cause"] == CAUSE
    assert stage(document, "nmstate")["detail"] == (
        "the last known good worker-0.yml asks for what is there already; nothing was applied"
    )
    assert causes(vm) == [CAUSE]
    assert f"nodenetd: {CAUSE}" in vm.console()
