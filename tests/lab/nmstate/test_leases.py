"""A lease that NetworkManager has given up: its address stays on the link for 15 s, and the gateway answers over it."""

from __future__ import annotations

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import node_file, nothing_left, settle, stage, status

PLAIN = """interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}
"""
OTHER_CLIENT = PLAIN.replace("dhcp: true", 'dhcp: true, dhcp-client-id: "01:02:03:04:05:06:07"')
STAYS_SECONDS = 15
ADDRESS = "ip -4 -o addr show dev eth0 scope global | grep -q inet"


def ready(product_node: NodeFactory, lan: Lan, *extra: str) -> Node:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=extra))
    node = product_node(files=NO_BRIDGE, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["ready"]
    return node


def test_a_file_whose_lease_never_comes_is_rolled_back(product_node: NodeFactory, lan: Lan) -> None:
    """Its gateway answered for 15 s, and the file was kept."""
    node = ready(product_node, lan, "--dhcp-host=id:01:02:03:04:05:06:07,ignore")
    node.write(node_file("worker-0.yml"), OTHER_CLIENT)
    assert node.run("nodenetctl reload --wait", check=False, timeout=120).returncode != 0
    failed = stage(settle(node), "nmstate")
    said = "worker-0.yml: eth0 got no IPv4 address, which the node file asks for"
    assert (failed["status"], failed["detail"].startswith(said)) == ("failed", True), failed
    node.wait_until(ADDRESS, timeout=30)
    nothing_left(node)


def test_a_server_that_is_away_for_a_moment_is_waited_for(product_node: NodeFactory, lan: Lan) -> None:
    """The plainest file there is: it was kept at once, and the node was dark when the old address had gone."""
    node = ready(product_node, lan)
    node.write(node_file("worker-0.yml"), PLAIN)
    lan.stop_dhcp()
    node.run("systemctl reload --no-block nodenetd")
    node.wait_until(f"! ({ADDRESS})", timeout=STAYS_SECONDS + 20)
    assert stage(status(node), "nmstate")["status"] == "running"
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node.wait_until("journalctl -b -u nodenetd | grep -q 'Applied worker-0.yml'", timeout=80)
    document = settle(node)
    assert (stage(document, "nmstate")["status"], document["health"]) == ("done", "ok"), document
    node.run(ADDRESS)
    nothing_left(node)


def test_a_trial_holds_only_with_its_lease(product_node: NodeFactory, lan: Lan) -> None:
    """It could be confirmed 3 s after it held, and the node was dark 15 s later."""
    node = ready(product_node, lan, "--dhcp-host=id:01:02:03:04:05:06:07,ignore")
    node.write("/root/new.yml", OTHER_CLIENT)
    tried = node.run("nodenetctl try /root/new.yml --for 60", check=False, timeout=150)
    assert tried.returncode != 0
    assert "eth0 got no IPv4 address, which the node file asks for" in tried.stdout + tried.stderr
    assert node.run(f"test -e {node_file('worker-0.yml')}", check=False).returncode != 0
    node.wait_until(ADDRESS, timeout=30)
    nothing_left(node)
