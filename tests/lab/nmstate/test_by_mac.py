"""A node file that names its NIC by the MAC address: its profile in NetworkManager names no link."""

from __future__ import annotations

import pytest

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from story import BRIDGE, STATIC, causes, node_file, nothing_left, settle, shorter

QUICK = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 8\n"}
NO_SPANNING_TREE = {"nodenet/stages/apply/probes.py": ("FORWARD_SECONDS = 35.0", "FORWARD_SECONDS = 8.0")}
PROFILES = ["nmcli", "--terse", "--get-values", "NAME,DEVICE", "connection", "show"]


@pytest.mark.parametrize(("text", "link"), [(STATIC, "eth0"), (BRIDGE, "br-ex")], ids=["nic", "bridge"])
def test_a_power_cut_in_the_probes_of_a_bad_first_file_does_not_leave_the_node_cut_off(
    product_node: NodeFactory, lan: Lan, text: str, link: str
) -> None:
    """No file is known good. The profile that NetworkManager made by itself comes back, that of the file goes."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    files = {**QUICK, **shorter(NO_SPANNING_TREE), **dict.fromkeys(NO_BRIDGE, "")}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = node.run(PROFILES).stdout
    identified = f'name: uplink\n  identifier: mac-address\n  mac-address: "{node.nics[0].mac}"\n  type: ethernet\n'
    bad = text.replace("name: eth0\n  type: ethernet\n", identified, 1).replace(" name: eth0\n", " name: uplink\n")
    bad = bad.replace("next-hop-interface: eth0\n", "next-hop-interface: uplink\n")
    bad = bad.replace(f"next-hop-address: {lan.gateway4}", "next-hop-address: 10.88.0.99")
    node.write(node_file("worker-0.yml"), bad)
    node.run("systemctl reload --no-block nodenetd")
    node.wait_until(
        'ip route | grep -q "via 10.88.0.99" && grep -q \'"way_out": true\' /var/lib/nodenet/change.json', timeout=60
    )
    node.wait_until("ls /etc/NetworkManager/system-connections | grep -q uplink", timeout=5)
    node.power_cut()
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("degraded", True)
    why = f"the gateway 10.88.0.99 does not answer on {link}, and the gateway {lan.gateway4} answered before the apply"
    (cause,) = causes(node)
    assert why in cause
    assert f"default via {lan.gateway4} " in node.run("ip route").stdout
    assert node.run(PROFILES).stdout == before
    nothing_left(node)
