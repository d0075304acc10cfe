"""The light is never wrongly green or red: what is lost after READY is said, and a change that is undone is no loss."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.core.messages import Message
from story import STATIC, causes, node_file, settle, status, story

ANNOUNCE = """
import socket, struct, sys, time
mac, address = bytes.fromhex("02deadbeef09"), socket.inet_aton(sys.argv[1])
line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
line.bind(("br0", 0))
for _ in range(2 * int(sys.argv[2])):
    line.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + struct.pack("!HHBBH", 1, 0x800, 6, 4, 1) + 2 * (mac + address))
    time.sleep(0.5)
"""
"""A host that announces an address twice a second and answers no question: its target hardware address is its own."""


def wait_for_health(node: Node, health: str, seconds: float) -> None:
    node.wait_until(f'grep -q \'"health": "{health}"\' /run/nodenet/state.json', timeout=seconds)


def logged(node: Node, message: Message) -> list[str]:
    return [str(entry["MESSAGE"]) for entry in story(node) if entry.get("MESSAGE_ID") == message.value]


def test_networkmanager_that_is_gone_is_said_within_30_seconds(product_node: NodeFactory, lan: Lan) -> None:
    """With the end of the lease, and the node is ok again by itself; a restart makes no noise (rule 17)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, lease=600))
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    (node_ip,) = settle(node)["node_ips"]
    node.run("systemctl restart NetworkManager", timeout=60)
    node.run("systemctl stop NetworkManager", timeout=60)
    wait_for_health(node, "degraded", 35)
    (problem,) = status(node)["problems"]
    assert problem["message_id"] == Message.MANAGER_AWAY.value
    assert problem["cause"].startswith("NetworkManager has not run since 20")
    assert f"; the lease of {node_ip} on eth0 ends at 20" in problem["cause"]
    assert "systemctl start NetworkManager" in problem["remedy"]
    node.run("systemctl start NetworkManager", timeout=60)
    wait_for_health(node, "ok", 20)
    assert causes(node) == [problem["cause"]]
    assert logged(node, Message.RECOVERED) == ["NetworkManager is on the bus again"]


def test_a_reload_that_is_rolled_back_calls_no_node_ip_missing(product_node: NodeFactory) -> None:
    """The address is away while NetworkManager activates the link again; the gateway alone is the problem (A6)."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    assert node.run("nodenetctl check").stdout.startswith("worker-0.yml: good (")
    assert node.run("nodenetctl").stdout.startswith("ok (kubelet may run)\n")
    seen: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.extend(problem["cause"] for problem in status(node).get("problems", ()))
            time.sleep(0.1)

    node.write(node_file("worker-0.yml"), STATIC.replace("10.88.0.1\n    next", "10.88.0.254\n    next"))
    watching = threading.Thread(target=look)
    watching.start()
    node.run(["nodenetctl", "reload", "--wait"], check=False, timeout=120)
    time.sleep(16)  # until the next beat
    over.set()
    watching.join()
    assert "10.88.0.254" in str(status(node)["last_error"]["cause"])
    assert [cause for cause in seen if "missing" in cause] == []
    assert logged(node, Message.NODE_IP_DRIFT) == []
    assert node.addresses("eth0", family="inet") == ["10.88.0.50"]


def test_another_host_that_claims_the_node_ip(product_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    """It is named with its MAC; the node keeps its address, and is ok when the host is silent (rule 19)."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    announcing = lan.start(sys.executable, "-c", ANNOUNCE, "10.88.0.50", "95", output=tmp_path / "announced.log")
    wait_for_health(node, "degraded", 85)
    error = status(node)["last_error"]
    assert error["message_id"] == Message.NODE_IP_CLAIMED.value
    assert error["cause"].startswith("Another host on eth0 says since 20")
    assert error["cause"].endswith(": 02:de:ad:be:ef:09 has the node IP 10.88.0.50")
    assert node.addresses("eth0", family="inet") == ["10.88.0.50"]
    announcing.wait(timeout=120)
    wait_for_health(node, "ok", 30)
