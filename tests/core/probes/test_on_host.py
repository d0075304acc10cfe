"""The kernel's names of the links of a node file."""

from __future__ import annotations

from ipaddress import ip_address

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_file.content import Desired, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Lease
from nodenet.core.probes.questions import on_host

MAC, OTHER = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
TEXT = f"""\
interfaces:
- name: primary
  identifier: mac-address
  mac-address: {MAC.upper()}
  ipv4: {{enabled: true, dhcp: true}}
  ipv6: {{enabled: false}}
- name: long-name
  ipv4: {{enabled: true, dhcp: false, address: [{{ip: 192.0.2.5, prefix-length: 24}}]}}
- name: primary.7
  type: vlan
  vlan: {{base-iface: primary, id: 7}}
"""


def wish(text: str = TEXT) -> Desired:
    return parse(NodeFile("worker-0.yml", text, "d"))


def test_a_link_is_found_by_its_mac_address_or_another_name() -> None:
    """Its own MAC address: the port of a bond has that of the bond, and so has a VLAN."""
    present = (
        Link(2, "eth0", mac=OTHER, permanent_mac=MAC),
        Link(3, "eth1", altnames=("long-name",), mac=OTHER),
        Link(4, "bond0", kind="bond", mac=MAC),
    )
    found = on_host(wish(), present)
    assert found.links.existing == {"eth0", "eth1"}
    assert found.links.made == {"primary.7"}
    assert found.addresses == (("eth1", ip_address("192.0.2.5")),)
    assert found.demands.leases == {Lease("eth0", Family.IPV4)}


def test_of_links_with_one_mac_address_the_master_is_meant() -> None:
    """A virtual function below the link of its hypervisor."""
    for order in (1, -1):
        twins = (Link(2, "eth0", mac=MAC), Link(3, "enP1s1", mac=MAC, master="eth0"))[::order]
        assert "eth0" in on_host(wish(), twins).links.existing


def test_names_may_be_exchanged() -> None:
    text = "interfaces:\n" + "".join(
        f"- {{name: {name}, identifier: mac-address, mac-address: {mac}, ipv4: {{enabled: true, dhcp: {on}}}}}\n"
        for name, mac, on in (("eth0", OTHER, "false"), ("eth1", MAC, "true"))
    )
    found = on_host(wish(text), (Link(2, "eth0", mac=MAC), Link(3, "eth1", mac=OTHER)))
    assert found.demands.leases == {Lease("eth0", Family.IPV4)}


def test_a_link_that_is_not_there_keeps_its_name() -> None:
    """And one that has the name of the file has no other."""
    one = wish()
    assert on_host(one, (Link(2, "eth0", mac=OTHER),)) is one
    assert on_host(one, (Link(2, "long-name"), Link(3, "eth1", altnames=("long-name",)))) is one
