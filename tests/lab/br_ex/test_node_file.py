"""A node file that defines br-ex itself, as the installer's documentation has it, in the second of two steps."""

from __future__ import annotations

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from pinger import Pinger
from story import NODE_FILES, causes, nothing_left, settle, stage

SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
OVN = 'network_type = "OVNKubernetes"\nfamilies = ["ipv4"]\n[bridge]\ndatapath = "netdev"\n'
KEYFILE = "/etc/NetworkManager/system-connections/eth0.nmconnection"
ADDRESS, GATEWAY = "10.88.0.110", "10.88.0.1"
FIRST_STEP = f"""[connection]
id=eth0
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1={ADDRESS}/24
gateway={GATEWAY}
dns={GATEWAY};
[ipv6]
method=disabled
"""
AS_DOCUMENTED = f"""\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: false
  ipv6:
    enabled: false
- name: br-ex
  type: ovs-bridge
  state: up
  copy-mac-from: eth0
  ipv4:
    enabled: false
    dhcp: false
  ipv6:
    enabled: false
    dhcp: false
  bridge:
    options:
      datapath: netdev
    port:
    - name: eth0
    - name: br-ex
- name: br-ex
  type: ovs-interface
  state: up
  ipv4:
    enabled: true
    address:
    - ip: "{ADDRESS}"
      prefix-length: 24
  ipv6:
    enabled: false
    dhcp: false
dns-resolver:
  config:
    server:
    - {GATEWAY}
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: {GATEWAY}
    next-hop-interface: br-ex
"""
"""Adapted are the address, the name of the NIC and the datapath, nothing else."""


MAC = "00:d7:a3:95:42:1f"
"""As of a card. Open vSwitch takes the MAC of a port for the bridge only where it is not locally administered."""
CARD = f"""[Unit]
DefaultDependencies=no
Before=NetworkManager.service nodenetd.service
[Service]
Type=oneshot
ExecStart=ip link set eth0 address {MAC}
[Install]
WantedBy=sysinit.target
"""
FILES = {
    SETTINGS: OVN,
    f"{NODE_FILES}/worker-0.yml": AS_DOCUMENTED,
    "/etc/systemd/system/card.service": CARD,
}


def holds(node: Node) -> None:
    """Assert what the document asks for."""
    document = settle(node, timeout=120)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", [ADDRESS], "br-ex")
    assert stage(document, "configure-ovs")["status"] == "skipped"
    (link,) = node.json("ip -j address show dev br-ex")
    assert link["address"] == MAC
    assert [info["local"] for info in link["addr_info"] if info["scope"] == "global"] == [ADDRESS]
    (route,) = node.json("ip -j -4 route show default")
    assert (route["dev"], route["gateway"]) == ("br-ex", GATEWAY)
    servers = [line for line in node.run("cat /etc/resolv.conf").stdout.splitlines() if line.startswith("nameserver")]
    assert servers == [f"nameserver {GATEWAY}"]
    assert node.addresses("eth0") == []
    nothing_left(node)


def test_the_documented_file_to_the_letter(product_node: NodeFactory, lan: Lan) -> None:
    """The bridge has the card's MAC although `copy-mac-from` is given for the bridge only (S7)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files=FILES, flavour=Flavour.OPENSHIFT)
    node.enable("card.service")
    node.boot()
    holds(node)
    with Pinger(lan, ADDRESS) as pinger:
        pinger.wait_for_reply()
    assert node.record("kubelet").addresses
    assert causes(node) == []


def test_an_early_static_address_goes_over_to_br_ex(product_node: NodeFactory, lan: Lan) -> None:
    """First step: a keyfile. Second step: the node file. One address all the way, also after a reboot (S6)."""
    lan.stop_dhcp()
    node = product_node(files=FILES, flavour=Flavour.OPENSHIFT)
    node.enable("card.service")
    node.write(KEYFILE, FIRST_STEP, 0o600)
    node.boot()
    holds(node)
    seen = node.record("kubelet").addresses
    global4 = {
        (link["ifname"], info["local"])
        for link in seen
        for info in link["addr_info"]
        if info["scope"] == "global" and info["family"] == "inet"
    }
    assert global4 == {("br-ex", ADDRESS)}
    assert causes(node) == []
    node.reboot()
    holds(node)
    assert node.record("kubelet").addresses
    assert causes(node) == []
