"""The NIC below br-ex has another name in a later boot: another slot, or other rules of systemd.link(5) (R26)."""

from __future__ import annotations

import pytest

from br_ex.test_make import BRIDGED, DHCP_ONLY, KEYFILES, SETTINGS, identity
from factories import NodeFactory
from harness import Flavour, Lan, Node
from story import causes, node_file, nothing_left, settle, story

ONE_FAMILY = f'families = ["ipv4"]\n{BRIDGED}'
STATIC = """[connection]
id=uplink
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0aa
type=ethernet
# the NIC in slot 3
interface-name=eth0
[ipv4]
method=manual
address1=10.88.0.50/24
gateway=10.88.0.1
dns=10.88.0.1;
[ipv6]
method=disabled
"""
KEYFILE = f"{KEYFILES}/uplink.nmconnection"
RENAME = """[Unit]
DefaultDependencies=no
Before=NetworkManager.service nodenetd.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c "ip link set eth0 down; ip link set eth0 name ens7"
[Install]
WantedBy=sysinit.target
"""


BY_NAME = """interfaces:
- name: eth0
  type: ethernet
  state: up
  mtu: 1401
  ipv4: {enabled: true, dhcp: true}
  ipv6: {enabled: false}
"""
FOLLOWED = "cluster.yml is used with the new name of each NIC"


def by_mac(node: Node) -> str:
    """Return the same node file for the NIC with that MAC, whatever its name is."""
    identified = f'- name: uplink\n  identifier: mac-address\n  mac-address: "{node.nics[0].mac}"\n'
    return BY_NAME.replace("- name: eth0\n", identified)


def reboot_renamed(node: Node) -> None:
    """Reboot; eth0 is called ens7 from then on."""
    node.write("/etc/systemd/system/rename.service", RENAME)
    node.run("systemctl enable rename.service")
    node.reboot()


@pytest.mark.parametrize("keyfile", [None, STATIC], ids=["DHCP", "static"])
def test_an_uplink_with_another_name(product_node: NodeFactory, lan: Lan, keyfile: str | None) -> None:
    """br-ex is over the NIC with the same MAC again; the node keeps its address, and kubelet starts (R26)."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: ONE_FAMILY}, flavour=Flavour.OPENSHIFT)
    if keyfile:
        node.write(KEYFILE, keyfile, 0o600)
    node.boot()
    assert settle(node)["bridge"] == "br-ex"
    before = identity(node, "br-ex")
    reboot_renamed(node)
    document = settle(node, timeout=120)
    assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", "ens7")
    assert identity(node, "br-ex") == before
    said = [str(line["MESSAGE"]) for line in story(node)]
    why = "eth0, the uplink of a bridge, is called ens7 now (same MAC)"
    assert [line for line in said if line.startswith(why)] == [f"{why}. The network from before br-ex is restored"]
    assert node.record("kubelet").addresses
    assert causes(node) == []
    nothing_left(node)
    node.reboot()
    assert settle(node)["uplink"] == "ens7"
    assert identity(node, "br-ex") == before
    if keyfile:
        node.run("nodenetctl bridge remove", timeout=120)
        assert node.run(f"cat {KEYFILE}").stdout == keyfile.replace("interface-name=eth0", "interface-name=ens7")


@pytest.mark.parametrize(("identified", "failures"), [(True, []), (False, [FOLLOWED])], ids=["by MAC", "by name"])
def test_an_uplink_with_another_name_and_a_node_file(
    product_node: NodeFactory, lan: Lan, failures: list[str], *, identified: bool
) -> None:
    """The nmstate stage needs NetworkManager's start to end, which DHCP on a br-ex without uplink prevents (R26).

    A file that names the NIC by its MAC stays in force. One that names it by its old name follows it; the node keeps
    its address, is degraded, and kubelet starts.
    """
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: ONE_FAMILY}, flavour=Flavour.OPENSHIFT)
    node.write(node_file("cluster.yml"), by_mac(node) if identified else BY_NAME)
    node.boot()
    document = settle(node)
    assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", "eth0")
    before = identity(node, "br-ex")
    assert before["mtu"] == 1401
    reboot_renamed(node)
    document = settle(node, timeout=120)
    assert (document["bridge"], document["uplink"]) == ("br-ex", "ens7")
    assert document["health"] == ("degraded" if failures else "ok")
    assert identity(node, "br-ex") == before
    assert node.record("kubelet").addresses
    assert [cause.partition("; ")[2] for cause in causes(node)] == failures
    nothing_left(node)
