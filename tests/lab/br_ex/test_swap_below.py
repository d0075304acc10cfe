"""Another link below the br-ex that nodenetd has made: by /etc/ovnk/default_bridge and a reload, beside OVN.

Both NICs are on one LAN, as the ports of two switches are. The second one has no address.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ovn
from br_ex.test_beside_ovn import OK, same_again, seen
from br_ex.test_make import DHCP_ONLY, KEYFILES, SETTINGS, STATIC, audits, writes_nothing
from br_ex.test_more import BRIDGED4, DEFAULT, reload
from br_ex.test_swap import NUMBERED, SILENT, lose_the_first, uplink
from factories import NodeFactory
from harness import Flavour, Lab, Lan, Node
from pinger import Pinger
from story import causes, lease_confirmed, node_file, nothing_left, settle

SPARE = """[connection]
id=spare
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0ab
type=ethernet
interface-name=eth1
[ipv4]
method=disabled
[ipv6]
method=disabled
"""
KINDS = ("static", "dhcp")


@pytest.fixture
def node(product_node: NodeFactory, product: Path, lab: Lab, lan: Lan, request: pytest.FixtureRequest) -> Node:
    """A node with OVN on the br-ex that nodenetd has made over eth0, and with a spare NIC."""
    kind = request.param
    second = lab.lan("lan1", serve=False) if kind == "apart" else lan
    if kind == "dhcp":
        lan.start_dhcp(DHCP_ONLY)
    else:
        lan.stop_dhcp()
    files: dict[str, Any] = {SETTINGS: BRIDGED4} | ovn.FILES
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, layers=[product, ovn.layer()], nics=[lan, second])
    ovn.install(node)
    node.write(f"{KEYFILES}/spare.nmconnection", SPARE, 0o600)
    if kind != "dhcp":
        node.write(f"{KEYFILES}/uplink.nmconnection", STATIC, 0o600)
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["link"], document["uplink"]) == ("ok", "br-ex", "eth0")
    lease_confirmed(node)
    ovn.start(node)
    return node


@pytest.mark.parametrize("node", KINDS, indirect=True)
def test_another_nic_takes_over(node: Node, lan: Lan) -> None:
    """There and back: addresses, MAC, port number and OVN's things stay; a second run and a reboot change nothing."""
    before, was = seen(node, NUMBERED), uplink(node)
    for link, nic in (("eth1", node.nics[1]), ("eth0", node.nics[0])):
        node.write(DEFAULT, f"{link}\n")
        with Pinger(lan, node.addresses("br-ex")[0]) as pinger:
            pinger.wait_for_reply()
            lose_the_first(lan, nic)
            document = reload(node)
            pinger.wait_for_reply()
        assert (document["health"], document["uplink"]) == ("ok", link), document["problems"]
        assert uplink(node) == was.replace("eth0", link)
        assert pinger.outage <= SILENT
        ovn.start(node)
        assert seen(node, NUMBERED) == before
        assert node.addresses("eth0") == node.addresses("eth1") == []
        assert node.run(f"grep -l -e 169.254 -e 172.30 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
        asked = audits(node)
        assert reload(node)["health"] == "ok"
        assert audits(node) == asked
    nothing_left(node)
    assert causes(node) == []


@pytest.mark.parametrize("node", KINDS, indirect=True)
def test_a_reboot_and_a_removal_after_a_swap(node: Node, lan: Lan) -> None:
    """br-ex stays over the new link without the file; if br-ex is removed, that link gets the configuration."""
    address, was = node.addresses("br-ex")[0], uplink(node)
    node.write(DEFAULT, "eth1\n")
    assert reload(node)["uplink"] == "eth1"
    node.path(DEFAULT).unlink()
    node.reboot()
    document = settle(node, timeout=120)
    assert (document["health"], document["uplink"], document["node_ips"]) == ("ok", "eth1", [address])
    assert uplink(node) == was.replace("eth0", "eth1")
    node.run("nodenetctl bridge remove", timeout=120)
    document = settle(node)
    assert (document["health"], document["link"], document["node_ips"]) == ("ok", "eth1", [address])
    assert node.addresses("eth0") == []
    lan.run("ping", "-c1", "-W5", address)
    node.run("nmcli connection up spare", timeout=60)
    node.wait_until(f"ip -4 -o address show dev eth1 | grep -q {address}")
    node.run("nodenetctl bridge make", timeout=120)
    document = settle(node)
    assert (document["health"], document["uplink"], document["node_ips"]) == ("ok", "eth1", [address])
    assert uplink(node) == was.replace("eth0", "eth1")
    nothing_left(node)


@pytest.mark.parametrize("node", ["static"], indirect=True)
def test_a_kill_ends_on_one_of_the_two_paths(node: Node, lan: Lan) -> None:
    """With address and port number; at several moments of the change, from its record to its end."""
    address, number = node.addresses("br-ex")[0], uplink(node).split()[1]
    for seconds in (0.3, 0.8, 1.3, 1.8, 2.5, 3.5):
        node.write(DEFAULT, "eth1\n" if uplink(node).startswith("eth0") else "eth0\n")
        node.run(f"nodenetctl reload; sleep {seconds}; systemctl kill -s KILL nodenetd", timeout=60)
        node.wait_until(f"test ! -e /var/lib/nodenet/change.json && {OK}", timeout=90)
        assert (node.addresses("br-ex"), uplink(node).split()[1]) == ([address, *node.addresses("br-ex")[1:]], number)
        with Pinger(lan, address) as pinger:
            pinger.wait_for_reply()
    assert reload(node)["health"] == "ok"
    node.run("nodenetctl bridge remove", timeout=120)
    assert settle(node)["node_ips"] == [address]
    nothing_left(node)


@pytest.mark.parametrize("node", ["apart"], indirect=True)
def test_a_nic_without_the_gateway_is_put_back(node: Node) -> None:
    """The old NIC carries br-ex again, with its port number, and OVN's things are there."""
    ovn.stop(node)
    before, was = seen(node, NUMBERED), uplink(node)
    node.write(DEFAULT, "eth1\n")
    document = reload(node)
    assert document["health"] == "degraded"
    assert "10.88.0.1 answered before" in document["last_error"]["cause"]
    same_again(node, before, NUMBERED)
    assert uplink(node) == was
    node.path(DEFAULT).unlink()
    assert reload(node)["health"] == "ok"
    nothing_left(node)


FILE = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.0.50
      prefix-length: 24
  ipv6:
    enabled: false
- name: eth1
  type: ethernet
  state: up
  ipv4:
    enabled: false
  ipv6:
    enabled: false
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
"""


def test_a_node_file_that_gives_the_first_link_its_address_stays_in_force(product_node: NodeFactory, lan: Lan) -> None:
    """Nothing is applied again, and br-ex is not removed while both links would have the address then."""
    lan.stop_dhcp()
    files = {SETTINGS: BRIDGED4, node_file("cluster.yml"): FILE}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, nics=[lan, lan])
    node.boot()
    assert settle(node)["link"] == "br-ex"
    node.write(DEFAULT, "eth1\n")
    document = reload(node)
    assert (document["health"], document["uplink"]) == ("ok", "eth1"), document["problems"]
    writes_nothing(node)
    assert "eth0 is below a bridge that has its IP" in node.run("nodenetctl diff").stdout
    refused = node.run("nodenetctl bridge remove", check=False, timeout=60)
    assert refused.returncode != 0
    assert "gives eth0 the configuration of br-ex" in refused.stderr
    assert node.addresses("br-ex") == ["10.88.0.50"]
    node.write(DEFAULT, "eth0\n")
    node.run("nodenetctl bridge make && nodenetctl bridge remove", timeout=120)
    document = settle(node)
    assert (document["health"], document["link"], node.addresses("eth1")) == ("ok", "eth0", [])
    assert node.addresses("eth0") == ["10.88.0.50"]
    nothing_left(node)
