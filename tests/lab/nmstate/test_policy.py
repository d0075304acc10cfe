"""A node file that is an NMState policy: it is resolved once, against the network before it."""

from __future__ import annotations

import json

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import causes, disk_times, mtu, network, node_file, nothing_left, settle, stage, status

OWN = node_file("worker-0.yml")
KEPT = "/var/lib/nodenet/policies.json"
CAPTURES = """capture:
  gateway: routes.running.destination=="0.0.0.0/0"
  uplink: interfaces.name==capture.gateway.routes.running.0.next-hop-interface
"""
BRIDGE = """desiredState:
  interfaces:
  - name: "{{ capture.uplink.interfaces.0.name }}"
    type: ethernet
    state: up
    ipv4: {enabled: false}
    ipv6: {enabled: false}
  - name: br-ex
    type: ovs-bridge
    state: up
    copy-mac-from: "{{ capture.uplink.interfaces.0.name }}"
    bridge:
      options: {datapath: netdev}
      port:
      - name: "{{ capture.uplink.interfaces.0.name }}"
      - name: br-ex
  - name: br-ex
    type: ovs-interface
    state: up
    ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}
    ipv6: {enabled: false}
  routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: br-ex}]}
  dns-resolver: {config: {server: [10.88.0.1]}}
"""
MTU = """desiredState:
  interfaces:
  - name: "{{ capture.uplink.interfaces.0.name }}"
    type: ethernet
    state: up
    mtu: 1401
    ipv4: {enabled: true, dhcp: true}
"""


COPIED = 'copy-mac-from: "{{ capture.uplink.interfaces.0.name }}"'
NO_BRIDGE_BUT_WAIT = {path: text.replace("degrade", "wait") for path, text in NO_BRIDGE.items()}


def booted(product_node: NodeFactory, lan: Lan, policy: str) -> Node:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={OWN: policy, **dict.fromkeys(NO_BRIDGE, "")}, flavour=Flavour.OPENSHIFT)
    node.boot()
    return node


def test_br_ex_over_the_link_of_the_default_route(product_node: NodeFactory, lan: Lan) -> None:
    """With br-ex there the captures would find br-ex: the document of the first boot is compared, not made again."""
    node = booted(product_node, lan, CAPTURES + BRIDGE)
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document
    assert stage(document, "configure-ovs")["detail"] == "worker-0.yml defines br-ex itself"
    own = node.run(["stat", "-c", "%n %Y", KEPT, node_file("applied")]).stdout
    node.reboot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document
    assert stage(document, "nmstate")["detail"] == "worker-0.yml is applied already and the state matches it"
    assert node.run(["stat", "-c", "%n %Y", KEPT, node_file("applied")]).stdout == own
    before = disk_times(node)
    node.run(["nodenetctl", "reload", "--wait"])
    assert disk_times(node) == before
    assert node.run("nodenetctl diff").stdout == "worker-0.yml changes nothing on this node.\n"
    assert '"name": "eth0"' in node.run("nodenetctl explain nmstate").stdout
    assert "# NMState policy worker-0.yml, resolved on this node" in node.run("nodenetctl history 1").stdout
    assert causes(node) == []
    nothing_left(node)


def test_a_lost_record_costs_nothing(product_node: NodeFactory, lan: Lan) -> None:
    """Damaged, of another version, or gone: the document in force is compared, not made again."""
    node = booted(product_node, lan, CAPTURES + BRIDGE)
    assert settle(node)["health"] == "ok"
    for record in ('{"version": 1, "resol', '{"version": 0, "resolved": {}}', None):
        node.run(["rm", KEPT]) if record is None else node.write(KEPT, record)
        node.reboot()
        document = settle(node)
        assert (document["health"], document["link"]) == ("ok", "br-ex"), document
        assert stage(document, "nmstate")["detail"] == "worker-0.yml is applied already and the state matches it"
        assert node.run("nodenetctl diff").stdout == "worker-0.yml changes nothing on this node.\n"
        node.write(KEPT, "{}\n")
    assert causes(node) == []


def test_what_a_policy_looks_at_may_come_late(product_node: NodeFactory, lan: Lan) -> None:
    """No default route at the boot, as with a DHCP server that is late: kubelet waits until the route comes."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, router=False))
    node = product_node(files={OWN: CAPTURES + MTU, **NO_BRIDGE_BUT_WAIT}, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'no route of this node has destination'", timeout=60)
    assert not node.started("kubelet")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node.run("ip route add default via 10.88.0.1 dev eth0 metric 100")
    node.wait_until("systemctl is-active kubelet", timeout=60)
    document = settle(node)
    assert (document["health"], mtu(node)) == ("ok", 1401), document
    assert len(causes(node)) == 1
    nothing_left(node)


def test_an_edited_policy_is_resolved_again(product_node: NodeFactory, lan: Lan) -> None:
    """One that finds nothing, or has a wrong expression, is refused; the network and the document in force stay."""
    node = booted(product_node, lan, CAPTURES + MTU)
    assert (settle(node)["health"], mtu(node)) == ("ok", 1401)
    before, kept = network(node), node.run(["cat", KEPT]).stdout
    for wrong, said in (
        (CAPTURES.replace("0.0.0.0/0", "192.0.2.0/24"), "no route of this node has destination = '192.0.2.0/24'"),
        (CAPTURES.replace("==", "=", 1), "no operator, at character 27"),
    ):
        node.write(OWN, wrong + MTU)
        refused = node.run(["nodenetctl", "reload", "--wait"], check=False)
        assert refused.returncode == 65, refused.stderr
        assert "worker-0.yml, line 2, column 12: capture.gateway" in refused.stderr
        assert said in refused.stderr
        assert (network(node), node.run(["cat", KEPT]).stdout) == (before, kept)
    node.write(OWN, (CAPTURES + MTU).replace("1401", "1402"))
    assert "1401 -> 1402" in node.run("nodenetctl diff", check=False).stdout
    node.run(["nodenetctl", "reload", "--wait"])
    assert (status(node)["health"], mtu(node)) == ("ok", 1402)
    assert len(json.loads(node.run(["cat", KEPT]).stdout)["resolved"]) == 2


def test_a_power_cut_while_a_policy_is_applied(product_node: NodeFactory, lan: Lan) -> None:
    """The document was kept before the network was touched: the next boot applies this one."""
    node = booted(product_node, lan, CAPTURES + BRIDGE)
    node.wait_until("test -e /var/lib/nodenet/change.json", timeout=60)
    node.power_cut()
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document
    nothing_left(node)


def test_a_trial_installs_the_policy_and_keeps_its_document(product_node: NodeFactory, lan: Lan) -> None:
    """The reload behind the trial, and the next boot, find it in force."""
    node = booted(product_node, lan, "# nothing yet\n")
    settle(node)
    node.write("/root/new.yml", CAPTURES + MTU)
    node.run("setsid nodenetctl try /root/new.yml >/root/tried 2>&1 &")
    node.wait_until('nodenetctl status --json | grep -q \'"state": "holding"\'', timeout=60)
    node.run(["nodenetctl", "confirm"])
    node.wait_until(f"cmp {OWN} /root/new.yml", timeout=30)
    node.reboot()
    document = settle(node)
    assert (document["health"], mtu(node)) == ("ok", 1401), document
    assert stage(document, "nmstate")["detail"] == "worker-0.yml is applied already and the state matches it"


def test_a_policy_with_br_ex_is_edited(product_node: NodeFactory, lan: Lan) -> None:
    """In two steps, as the page says it: br-ex has the MAC address of its NIC. Here the type of the NIC is veth."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files=dict.fromkeys(NO_BRIDGE, ""), flavour=Flavour.OPENSHIFT)
    captures = f"""capture:
  same-mac: interfaces.mac-address=="{node.mac()}"
  uplink: capture.same-mac | interfaces.type=="veth"
"""
    bridge = BRIDGE.replace(
        "    state: up\n    ipv4: {enabled: true", f"    state: up\n    {COPIED}\n    ipv4: {{enabled: true"
    )
    node.write(OWN, captures + bridge)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.write(OWN, f"# edited\n{captures}{bridge}")
    node.run(["nodenetctl", "reload", "--wait"])
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document
    address = node.run(["cat", "/sys/class/net/br-ex/address"]).stdout.strip()
    assert address == node.mac(), "the captures had to choose"
