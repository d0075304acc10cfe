"""Do the pages for administrators tell the truth? Their commands run on a node as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import node_file, nothing_left, settle, status

PAGES = Path(__file__).resolve().parents[3] / "docs"
OF_THE_LAB = {"enp2s0": "eth0", "enp3s0": "eth1", "192.0.2.53": "10.88.0.1", "192.0.2.": "10.88.0."}
"""Names and addresses of the pages, and those of the lab. Nothing else of a page is changed."""
OWN = node_file("worker-0.yml")
WAIT = {"/etc/nodenet/nodenet.toml.d/10-lab.toml": 'on_failure = "wait"\n[stages]\nconfigure-ovs = "skip"\n'}
"""A file that fails holds kubelet."""
EXITS = {"nodenetctl diff": (0, 1)}
"""Commands whose exit code has a meaning other than a failure."""


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in a language, with names and addresses of the lab."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)
    return [in_the_lab(block) for written, block in found if written == language]


def in_the_lab(text: str) -> str:
    for there, here in OF_THE_LAB.items():
        text = text.replace(there, here)
    return text


def commands(block: str) -> list[str]:
    """Return the commands of a block, without what a page says beside them."""
    return [line.partition(" #")[0].strip() for line in block.splitlines() if line.strip()]


def typed(node: Node, command: str) -> str:
    """Type one command of a page; a trial counts down while the next command is typed, as in a second session."""
    if command.startswith("nodenetctl try"):
        node.run(f"setsid {command} >/root/tried 2>&1 &")
        node.wait_until('nodenetctl status --json | grep -q \'"state": "holding"\'', timeout=60)
        return ""
    if command == "reboot":
        node.reboot()
        settle(node)
        return ""
    done = node.run(command, check=False, timeout=120)
    wanted = next((codes for begin, codes in EXITS.items() if command.startswith(begin)), (0,))
    assert done.returncode in wanted, f"{command}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def ready(product_node: NodeFactory, lan: Lan, **options: object) -> Node:
    """Return a node that has booted without a node file, on a LAN with DHCP for IPv4."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(flavour=Flavour.OPENSHIFT, **options)
    node.boot()
    settle(node)
    return node


def test_the_quick_start(product_node: NodeFactory, lan: Lan) -> None:
    """From the node file on the page to a changed one: what is printed on the page is what the node prints."""
    (written,) = blocks("quick-start.md", "yaml")
    first, later = blocks("quick-start.md", "sh")
    node = ready(product_node, lan)
    node.write(OWN, written)
    for command in commands(first):
        typed(node, command)
    shown = node.run("nodenetctl").stdout
    (printed,) = (block for block in blocks("quick-start.md", "") if "# nodenetctl\n" in block)
    for line in printed.splitlines()[1:-1]:
        assert re.sub(r"\([0-9a-f]{12}\)", "(…)", line) in re.sub(r"\([0-9a-f]{12}\)", "(…)", shown)
    cp, *rest = commands(later)
    typed(node, cp)
    node.write("/root/new.yml", written.replace("state: up", "state: up\n  mtu: 1400"))
    for command in rest:
        typed(node, command)
    node.wait_until("nodenetctl status | grep -q 'problem     none'", timeout=60)
    assert "mtu: 1400" in node.run(f"cat {OWN}").stdout
    assert "mtu 1400" in node.run("ip link show eth0").stdout
    nothing_left(node)


def test_the_second_day(product_node: NodeFactory, lan: Lan) -> None:
    """A change on trial, the way back, what is removed, and kubelet without nodenetd."""
    change, back, remove, alone = blocks("day-2.md", "sh")
    (written,) = blocks("quick-start.md", "yaml")
    node = ready(product_node, lan, files={OWN: written, **WAIT})
    cp, *rest = commands(change)
    typed(node, cp)
    changed = written.replace("dns-resolver:", "- name: br-test\n  type: linux-bridge\n  state: up\ndns-resolver:")
    node.write("/root/new.yml", changed)
    for command in rest:
        typed(node, command)
    assert "br-test" in node.run("ip -br link").stdout
    for command in commands(back):
        typed(node, command)
    assert "br-test" not in node.run("ip -br link").stdout
    node.write(OWN, changed)
    node.run("nodenetctl reload --wait", timeout=90)
    node.write(OWN, written)
    said = "".join(typed(node, command) for command in commands(remove))
    assert "Left over" in said
    assert "br-test" not in node.run("ip -br link").stdout
    assert status(node)["left_over"] == []
    nothing_left(node)
    node.write(OWN, "interfaces: broken\n")
    node.reboot()
    node.wait_until("nodenetctl status | grep -q 'held back'", timeout=60)
    assert not node.started("kubelet")
    for command in commands(alone):
        typed(node, command)
    assert node.record("kubelet")


def case(title: str) -> list[str]:
    """Return the node files below a heading of the cookbook."""
    part = (PAGES / "node-files.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [in_the_lab(text) for text in re.findall(r"^```yaml\n(.*?)^```", part, re.MULTILINE | re.DOTALL)]


def test_the_cookbook(product_node: NodeFactory, lan: Lan) -> None:
    """Each file of the page is applied after the one before; the last one removes the second routing table whole."""
    node = ready(product_node, lan, nics=[lan, lan])
    for title in ("DHCP", "Two NICs", "A NIC by its MAC address"):
        (text,) = case(title)
        applied(node, text.replace("52:54:00:12:34:56", node.mac("eth0")))
    before = tables(node)
    added, removed = case("A second routing table")
    applied(node, added)
    assert "default via 198.51.100.1" in tables(node)
    applied(node, removed)
    assert tables(node) == before
    nothing_left(node)


def applied(node: Node, text: str) -> None:
    node.write(OWN, text)
    typed(node, "nodenetctl reload --wait")
    document = status(node)
    assert document["digest"] == document["applied_digest"]


def tables(node: Node) -> str:
    return str(node.run("ip rule; ip route show table 100", check=False).stdout)
