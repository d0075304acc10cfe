"""What moves to br-ex with the addresses, and what stays on the link below."""

from __future__ import annotations

import re
from typing import Any

from br_ex.test_make import KEYFILES, PLAIN, SETTINGS, bridged, identity, writes_nothing
from br_ex.test_more import EXTRA
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node, eventually
from story import causes, nothing_left, settle

UPLINK = """[connection]
id=uplink
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0aa
type=ethernet
interface-name=eth0
[ethernet]
mtu=1400
[ethtool]
feature-gro=false
[ipv4]
method=auto
[ipv6]
method=auto
addr-gen-mode=eui64
token=::53
"""
SYSCTLS = ("net/ipv4/conf/{}/forwarding", "net/ipv4/conf/{}/rp_filter", "net/ipv4/conf/{}/arp_ignore")


def test_identities_and_settings_of_the_link(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """A token, DUID and IAID of DHCPv6, MTU and sysctls move; what ethtool sets is the link's own."""
    other = lab.lan("lan1")
    lan.start_dhcp()
    other.start_dhcp(Dhcp(ipv6=Ipv6.DHCP))
    files = {SETTINGS: PLAIN, f"{KEYFILES}/uplink.nmconnection": UPLINK, EXTRA: "eth1\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, nics=[lan, other])
    node.path(f"{KEYFILES}/uplink.nmconnection").chmod(0o600)
    node.boot()
    settle(node)
    for link, address in (("eth0", "fd88::53"), ("eth1", "fd88")):
        node.wait_until(f"ip -6 address show dev {link} scope global -tentative | grep -q {address}")
    for path in SYSCTLS:
        node.run(f"echo 1 > /proc/sys/{path.format('eth0')}")
    before = [everything(node, link) for link in ("eth0", "eth1")]
    features = node.run("ethtool -k eth0").stdout
    assert "fd88::53" in before[0]["addresses"]
    count, leased = replies(other)
    assert bridged(node)["health"] == "ok"
    # Addresses are kept for the bridges while their clients ask once more; name servers come with the answers.
    count = asked_again(other, count, leased)
    resolvers = before[0]["resolv.conf"]
    eventually(lambda: node.run("cat /etc/resolv.conf").stdout == resolvers, "the name servers as before", timeout=10)
    moved = ("br-ex", "br-ex1")
    eventually(lambda: [everything(node, link) for link in moved] == before, "all of it on the bridges", timeout=10)
    assert node.run("ethtool -k eth0").stdout == features
    writes_nothing(node)
    node.reboot()
    assert settle(node)["health"] == "ok"
    asked_again(other, count, leased)
    node.wait_until("ip -6 address show dev br-ex1 scope global | grep -q fd88")
    again = [everything(node, link) for link in ("br-ex", "br-ex1")]
    assert [one | {"sysctls": None} for one in again] == [one | {"sysctls": None} for one in before]
    assert causes(node) == []
    nothing_left(node)


def everything(node: Node, link: str) -> dict[str, Any]:
    """Return the identity of *link*, sets for what has no order, with sysctls."""
    found = identity(node, link)
    values = node.run(["cat", *(f"/proc/sys/{path.format(link)}" for path in SYSCTLS)]).stdout.split()
    return found | {"addresses": set(found["addresses"]), "sysctls": values}


def replies(lan: Lan) -> tuple[int, str]:
    """Return how often the DHCPv6 server has given a lease, and the last one: address, DUID and host name.

    It gives another address to another IAID. NetworkManager's own DHCP6.OPTION is sometimes empty after a reapply.
    """
    found = re.findall(r"DHCPREPLY\(\S+\) (fd88:.*)", lan.log())
    return len(found), found[-1].strip()


def asked_again(lan: Lan, count: int, leased: str) -> int:
    """Wait until the server has given *leased* again after its first *count* replies; return how many there are."""

    def asked() -> bool:
        now, last = replies(lan)
        return now > count and last == leased

    eventually(asked, f"the lease {leased} again", timeout=20)
    return replies(lan)[0]
