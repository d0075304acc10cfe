"""The report of a boot that fails is enough for a simulation that decides the same in the same order.

With NODENET_KEEP_ARCHIVES=DIR each archive is kept there with the parts that a simulation needs: `fixtures/replay`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.edge.archive import unpacked
from simulation.replay import NEEDED, replayed
from story import STATIC, node_file, settle

KEPT = os.environ.get("NODENET_KEEP_ARCHIVES", "")
OWN, SETTINGS = node_file("worker-0.yml"), "/etc/nodenet/nodenet.toml.d/10-lab.toml"
OTHER = "/etc/nodenet/nodenet.toml.d/20-other.toml"
DHCP = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n"
FAILING = {
    "no-yaml": {OWN: "interfaces: [}\n"},
    "no-yaml-and-kubelet-waits": {OWN: "interfaces: [}\n", OTHER: 'on_failure = "wait"\n'},
    "unknown-key": {OWN: DHCP.replace("state: up", "state: up, mtuu: 1400")},
    "unknown-type": {OWN: "interfaces:\n- {name: t0, type: macsec, state: up}\n"},
    "missing-link": {OWN: DHCP.replace("eth0", "eth9")},
    "silent-gateway": {OWN: STATIC.replace("next-hop-address: 10.88.0.1", "next-hop-address: 10.88.0.99")},
    "no-datapath": {SETTINGS: 'on_failure = "degrade"\nnetwork_type = "OVNKubernetes"\n'},
    "denied-link": {OTHER: 'deny_links = ["eth0"]\n'},
    "hint-of-another-network": {OTHER: 'hint = "203.0.113.5"\nhint_required = true\n'},
    "family-that-is-not-there": {OTHER: 'families = ["ipv6"]\n'},
    "no-lease": {OTHER: "node_ip_wait = 20\n"},
    "no-way-out": {OTHER: "node_ip_wait = 20\n"},
}
WAITING = {
    "no-yaml-and-kubelet-waits": "problem .*worker-0.yml",
    "denied-link": "list of denied links",
    "hint-of-another-network": "hint 203.0.113.5",
    "family-that-is-not-there": "no IPv6 address yet",
    "no-lease": "no address yet",
    "no-way-out": "no IPv4 default route yet",
}
"""What the status says of boots whose end is not seen here."""


LATER = {
    "lease-of-the-last-boot-is-gone": ({}, "DHCP off", "no address yet"),
    "file-is-no-yaml-since-the-last-boot": ({OWN: DHCP, OTHER: 'on_failure = "auto"\n'}, "damaged", ""),
}
"""Boots after one that went well: its files, what is otherwise then, and what the status says of a boot that waits."""


@pytest.mark.parametrize("case", LATER)
def test_a_later_boot_that_fails(product_node: NodeFactory, lan: Lan, case: str, tmp_path: Path) -> None:
    """What nodenetd kept of the boots before it is in the archive."""
    files, what, said = LATER[case]
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.power_cut()
    if what == "damaged":
        node.write(OWN, FAILING["no-yaml"][OWN])
    else:
        lan.stop_dhcp()
    node.boot()
    if said:
        node.wait_until(f"nodenetctl status | grep -q 'waiting .*{said}'", timeout=90)
    else:
        settle(node, timeout=120)
    same_in_the_simulation(node, case, tmp_path)


@pytest.mark.parametrize("case", FAILING)
def test_a_boot_that_fails_fails_in_the_simulation_too(
    product_node: NodeFactory, lan: Lan, case: str, tmp_path: Path
) -> None:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, router=case != "no-way-out"))
    if case == "no-lease":
        lan.stop_dhcp()
    node = product_node(files=FAILING[case], flavour=Flavour.OPENSHIFT)
    node.boot()
    if case in WAITING:
        node.wait_until(f"nodenetctl status | grep -q '{WAITING[case]}'", timeout=90)
    else:
        settle(node, timeout=120)
    same_in_the_simulation(node, case, tmp_path)


def same_in_the_simulation(node: Node, case: str, tmp_path: Path) -> None:
    """Make the report, and keep it if KEPT says so."""
    archive = tmp_path / "report.tar.gz"
    node.run("nodenetctl report --output /root/report.tar.gz", timeout=90)
    archive.write_bytes(node.path("/root/report.tar.gz").read_bytes())
    files, notes = unpacked(archive)
    if KEPT:
        for name in filter(lambda name: name.startswith(NEEDED) and not files[name].startswith(b"cat: "), files):
            path = Path(KEPT, case, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
    assert notes == ()
    assert replayed(files) == []
