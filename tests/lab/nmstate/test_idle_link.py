"""A link that was not in use before an apply that a power cut ended."""

from __future__ import annotations

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan
from story import causes, node_file, nothing_left, settle

KEYFILE = "/etc/NetworkManager/system-connections/spare.nmconnection"
SPARE = """[connection]
id=spare
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0ab
type=ethernet
interface-name=eth1
autoconnect=false
[ipv4]
method=manual
address1=10.88.1.60/24
[ipv6]
method=disabled
"""
FILE = """interfaces:
- name: eth1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.1.50, prefix-length: 24}]}
  ipv6: {enabled: false}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.88.1.99, next-hop-interface: eth1, metric: 5}
"""


def test_a_link_that_was_not_in_use_has_nothing_of_the_file(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """NetworkManager activates its keyfile, which the file changed, in the next boot; it takes the default route."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    other = lab.lan("lan1")
    node = product_node(files=dict.fromkeys(NO_BRIDGE, ""), flavour=Flavour.OPENSHIFT, nics=[lan, other])
    node.write(KEYFILE, SPARE, 0o600)
    node.boot()
    settle(node)
    assert node.addresses("eth1") == []
    node.write(node_file("worker-0.yml"), FILE)
    node.run("systemctl reload --no-block nodenetd")
    node.wait_until("ip route | grep -q 'via 10.88.1.99' && test -e /var/lib/nodenet/change.json", timeout=60)
    node.power_cut()
    node.path(node_file("worker-0.yml")).unlink()
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "eth0")
    assert node.addresses("eth1") == []
    assert "10.88.1.99" not in node.run("ip route").stdout
    assert "10.88.1.60" in node.run(f"cat {KEYFILE}").stdout
    assert causes(node) == []
    nothing_left(node)
