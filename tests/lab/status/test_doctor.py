"""`nodenetctl doctor`: ten lines on a good node, on one without nodenetd, and each of nine faults."""

from __future__ import annotations

import json
import time
from typing import Any

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import CLUSTER, node_file, settle, status

LINES = [
    *("cable", "NetworkManager", "address", "duplicate", "lease", "gateway", "full-size ping", "DNS", "kubelet"),
    "clock",
]
SECONDS = 12
"""What the questions may take together, on a machine that runs other nodes."""
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
WITH_ARGUMENTS = """[Service]
ExecStart=
ExecStart=/bin/bash -c 'exec -a kubelet /bin/bash -c "sleep 1000; :" - --node-ip=10.88.0.99'
Type=exec
"""


def examined(node: Node, *, code: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the lines by name; the exit code is that of the lines."""
    began = time.monotonic()
    done = node.run("nodenetctl doctor --json", check=False)
    assert time.monotonic() - began < SECONDS
    lines = {line["name"]: line for line in json.loads(done.stdout)["lines"]}
    assert list(lines) == LINES
    states = [line["state"] for line in lines.values()]
    assert done.returncode == (1 if "fault" in states else 2 if "unknown" in states else 0), done
    assert code in (None, done.returncode), lines
    return lines


def faults(node: Node) -> set[str]:
    return {name for name, line in examined(node).items() if line["state"] == "fault"}


def booted(product_node: NodeFactory, lan: Lan) -> Node:
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): CLUSTER}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.wait_until("systemctl is-active kubelet")
    time.sleep(6)  # a younger process may still be systemd's own
    return node


def test_a_good_node_and_one_without_its_daemon(product_node: NodeFactory, lan: Lan) -> None:
    """The clock of a node in the lab is that of the machine: no program of the node keeps it."""
    node = booted(product_node, lan)
    (ip,) = status(node)["node_ips"]
    good = examined(node)
    assert {name: line["text"] for name, line in good.items() if line["state"] != "ok" and name != "clock"} == {}
    assert good["address"]["text"] == f"{ip} on eth0"
    assert good["kubelet"]["text"] == f"kubelet runs with {ip}, as published"
    node.write(node_file("worker-0.yml"), CLUSTER.replace("eth0", "eth7"))
    checked = node.run("nodenetctl check", check=False)
    assert checked.returncode == 0
    assert "worker-0.yml: warning: there is no link eth7: this host has eth0 (" in checked.stderr
    node.run("systemctl stop nodenetd; rm -r /run/nodenet")
    dead = examined(node)
    assert {name: line["state"] for name, line in dead.items()} == {name: good[name]["state"] for name in good}
    assert dead["address"] == good["address"]
    unprivileged = node.run([*NOBODY, "nodenetctl", "doctor"], check=False)
    assert unprivileged.returncode == 2
    first = [line.split()[0] for line in unprivileged.stdout.splitlines()]
    assert (len(first), set(first)) == (10, {"ok", "unknown"})


def test_each_fault_turns_its_line(product_node: NodeFactory, lan: Lan) -> None:
    node = booted(product_node, lan)
    (ip,) = status(node)["node_ips"]
    port = node.nics[0].port
    lan.run("ip", "link", "set", port, "mtu", "1280")
    assert faults(node) == {"full-size ping"}
    lan.run("ip", "link", "set", port, "mtu", "1500")
    lan.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
    lan.run("ip", "link", "add", "twin", "link", "br0", "address", "02:00:00:00:00:77", "type", "macvlan")
    lan.run("ip", "address", "add", f"{ip}/32", "dev", "twin")
    lan.run("ip", "link", "set", "twin", "up")
    found = examined(node)
    assert found["duplicate"]["text"] == f"02:00:00:00:00:77 has the node IP {ip}"
    lan.run("ip", "link", "delete", "twin")
    lan.stop_dhcp()
    assert faults(node) == {"DNS"}
    lan.run("ip", "address", "delete", f"{lan.gateway4}/24", "dev", "br0")
    assert faults(node) == {"gateway", "DNS"}
    lan.run("ip", "address", "add", f"{lan.gateway4}/24", "dev", "br0")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node.run("systemctl stop kubelet")
    node.run("touch -d 2099-01-01 $(find /usr -path '*/nodenet/cli/doctor.py')")
    assert faults(node) == {"kubelet", "clock"}
    node.write("/etc/systemd/system/kubelet.service.d/99-lab.conf", WITH_ARGUMENTS)
    node.run("systemctl daemon-reload; systemctl start kubelet; sleep 6")
    assert "--node-ip=10.88.0.99" in examined(node)["kubelet"]["text"]
    node.run("systemctl stop nodenetd NetworkManager")
    assert faults(node) == {"NetworkManager", "lease", "kubelet", "clock"}
    node.run("ip address flush dev eth0")
    assert faults(node) == {"NetworkManager", "address", "gateway", "DNS", "kubelet", "clock"}
    lan.set_carrier(port, up=False)
    found = examined(node)
    assert found["cable"]["text"] == "eth0 has no carrier"
    assert found["cable"]["remedy"].startswith("Check the cable")
