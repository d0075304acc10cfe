"""The NIC below br-ex has another name in a later boot: another slot, or other rules of systemd.link(5) (R26)."""

from __future__ import annotations

import pytest

from br_ex.test_make import BRIDGED, DHCP_ONLY, KEYFILES, SETTINGS, identity
from factories import NodeFactory
from harness import Flavour, Lan
from story import causes, nothing_left, settle, story

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
    node.write("/etc/systemd/system/rename.service", RENAME)
    node.run("systemctl enable rename.service")
    node.reboot()
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
