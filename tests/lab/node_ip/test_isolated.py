"""A node whose cluster network is isolated: no gateway there, and the default route is on another NIC.

Kubelet, CRI-O, br-ex and resolv.conf must all be on the cluster network, whether VIPs or a hint point to it.
"""

from __future__ import annotations

import pytest

from chain import DROP_IN, NETDEV, SETTINGS, started_after_ready, without_complaint
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan
from lookups import ANSWERS, RESOLVER, resolv_conf, servers, start_resolver, until_first
from story import CRIO, KUBELET, RUN, nothing_left, settle

HINTS = "/etc/default/nodeip-configuration"
VIPS = 'platform = "baremetal"\napi_vips = ["10.88.1.5"]\ningress_vips = ["10.88.1.6"]\n'
ELSEWHERE = 'platform = "baremetal"\napi_vips = ["10.88.0.5"]\ningress_vips = ["10.88.0.6"]\n'
DOMAIN = 'cluster_domain = "example.com"\nnetwork_type = "OVNKubernetes"\n'


@pytest.mark.parametrize("asked_by", ["vip", "hint"])
def test_the_cluster_network_is_isolated(product_node: NodeFactory, lab: Lab, lan: Lan, asked_by: str) -> None:
    """In the first boot and after a reboot; the default route stays where it is (S1)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    isolated = lab.lan("isolated", dhcp=Dhcp(router=False, ipv6=Ipv6.NONE))
    files = {SETTINGS: (VIPS if asked_by == "vip" else ELSEWHERE) + DOMAIN, DROP_IN: NETDEV}
    if asked_by == "hint":
        files[HINTS] = "NODEIP_HINT=10.88.1.0\n"
    node = product_node(nics=[lan, isolated], flavour=Flavour.OPENSHIFT, files=files)
    node.write(RESOLVER, ANSWERS, 0o755)
    node.boot()
    document = settle(node, timeout=120)
    (node_ip,) = document["node_ips"]
    assert node_ip.startswith("10.88.1.")
    for boot in (1, 2):
        assert (document["health"], document["last_error"], document["node_ips"]) == ("ok", None, [node_ip]), boot
        assert (document["bridge"], document["uplink"], document["link"]) == ("br-ex", "eth1", "br-ex")
        assert node.addresses("br-ex") == [node_ip]
        assert node.addresses("eth1") == []
        node.wait_until("ip -4 route show default | grep -q default")  # the lease of eth0, for which nothing waits
        (default,) = node.json("ip -j -4 route show default")
        assert (default["dev"], default["gateway"]) == ("eth0", "10.88.0.1")
        started_after_ready(node, node_ip)
        assert node_ip in node.run(["cat", KUBELET]).stdout
        assert node_ip in node.run(["cat", CRIO]).stdout
        assert node.run(f"cat {RUN}/primary-ip {RUN}/ipv4").stdout == node_ip * 2
        assert node.run(f"test -e {RUN}/remote-worker", check=False).returncode == 1
        assert "search example.com" in resolv_conf(node)
        without_complaint(node)
        nothing_left(node)
        if boot == 1:
            until_first(node, start_resolver(node))
            assert servers(resolv_conf(node))[0] == node_ip
            node.reboot()
            document = settle(node, timeout=120)
