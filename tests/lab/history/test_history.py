"""The history of a node, and the way back to an entry of it."""

from __future__ import annotations

import json
from typing import Any

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import STATIC, network, node_file, nothing_left, settle

OWN = node_file("worker-0.yml")
SETTINGS = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 4\ngood_after = 1\n"}
BRIDGE = """- name: br-test
  type: linux-bridge
  state: up
  ipv4:
    enabled: true
    address:
    - ip: 10.20.0.5
      prefix-length: 24
"""
ROUTE = """  - destination: 10.99.0.0/16
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
"""


def changed(*, mtu: int = 0, bridge: bool = False, route: bool = False, address: str = "10.88.0.50") -> str:
    """Return the static file with more in it."""
    text = STATIC.replace("10.88.0.50", address)
    if mtu:
        text = text.replace("  state: up\n", f"  state: up\n  mtu: {mtu}\n", 1)
    if bridge:
        text = text.replace("dns-resolver:", f"{BRIDGE}dns-resolver:")
    return text + (ROUTE if route else "")


FILES = (
    changed(),
    changed(mtu=1400),
    changed(mtu=1300, bridge=True),
    changed(bridge=True, route=True, address="10.88.0.51"),
    changed(route=True),
)


def lasting(node: Node) -> dict[str, Any]:
    """Return the network as an entry of the history has it: lo gets another profile in each boot."""
    found = network(node)
    found["profiles"] = [line for line in found["profiles"].splitlines() if not line.startswith("lo:")]
    found["keyfiles"] = node.run("grep -Hv ^timestamp= /etc/NetworkManager/system-connections/*").stdout.splitlines()
    found["mtu"] = {link["ifname"]: link["mtu"] for link in node.json("ip -j link")}
    return found


def entries(node: Node) -> list[dict[str, Any]]:
    """Return the history."""
    found: list[dict[str, Any]] = json.loads(node.run("nodenetctl history --json").stdout)["entries"]
    return found


def test_back_to_each_of_five_files_with_power_cuts_between(product_node: NodeFactory, lan: Lan) -> None:
    """Addresses, routes, MTU, links, name servers and keyfiles are as they were; the next boot agrees."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={OWN: FILES[0], **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    seen = [lasting(node)]
    for text in FILES[1:]:
        node.write(OWN, text)
        node.run("nodenetctl reload --wait", check=False, timeout=90)
        settle(node)
        seen.append(lasting(node))
    assert [(each["number"], each["who"]) for each in entries(node)] == [
        *((number, "reload (uid 0)") for number in (5, 4, 3, 2)),
        (1, "boot"),
    ]
    for number in (2, 4, 1, 3, 5):
        node.run("nm-online -s -q -t 60", timeout=90)  # while NetworkManager starts, a trial is refused
        said = node.run(f"nodenetctl rollback --to {number}", timeout=120).stdout
        assert f"is installed as {OWN}" in said
        assert lasting(node) == seen[number - 1], f"back at {number}"
        assert node.run(f"cat {OWN}").stdout == FILES[number - 1]
        newest = entries(node)[0]
        assert newest["kind"] == "rollback"
        assert newest["who"].startswith("rollback by root")
        node.power_cut()
        node.boot()
        settle(node)
        assert lasting(node) == seen[number - 1], f"in the boot after {number}"
    nothing_left(node)


def test_a_way_back_that_is_not_confirmed_or_cuts_the_node_off_is_undone(product_node: NodeFactory, lan: Lan) -> None:
    """A refused file is in the history too; what cannot be gone back to is refused with the reason."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={OWN: FILES[0], **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.write(OWN, FILES[2])
    node.run("nodenetctl reload --wait", timeout=90)
    node.write(OWN, FILES[2].replace("10.88.0.1\n    next-hop-interface", "10.88.0.99\n    next-hop-interface"))
    assert node.run("nodenetctl reload --wait", check=False, timeout=90).returncode != 0
    node.write(OWN, FILES[2])
    node.run("nodenetctl reload --wait", timeout=90)
    before = lasting(node)
    newest = entries(node)[0]
    assert (newest["number"], newest["result"]) == (3, "refused")
    assert "10.88.0.99 does not answer" in newest["cause"]
    assert "10.88.0.99" in node.run("nodenetctl history 3").stdout
    refused = node.run("nodenetctl rollback --to 3", check=False)
    assert (refused.returncode, "its change was refused" in refused.stderr) == (64, True)
    assert node.run("nodenetctl rollback --to 9", check=False).returncode == 64
    assert "-MTU" not in (said := node.run("nodenetctl diff @1 @2", check=False).stdout)
    assert "+  mtu: 1300" in said
    tried = node.run("nodenetctl rollback --to 1 --for 5", check=False, timeout=120)
    assert (tried.returncode, "it was not confirmed" in tried.stderr) == (1, True)
    assert lasting(node) == before
    assert node.run(f"cat {OWN}").stdout == FILES[2]
    nothing_left(node)
