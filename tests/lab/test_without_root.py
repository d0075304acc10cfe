"""What does `nodenetctl` say on a real node to somebody who is not root?"""

from __future__ import annotations

import subprocess

import pytest

from factories import NodeFactory
from harness import Flavour, Node
from story import causes, node_file, settle, with_mtu

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
SUDO = "nodenetctl: only root may do this. Run it with sudo\n"


def ask(node: Node, *words: str) -> subprocess.CompletedProcess[str]:
    return node.run([*NOBODY, "nodenetctl", *words], check=False)


@pytest.fixture
def node(product_node: NodeFactory) -> Node:
    made = product_node(files={node_file("worker-0.yml"): with_mtu(1402)}, flavour=Flavour.OPENSHIFT)
    made.boot()
    settle(made)
    return made


def test_nothing_is_said_that_is_not_known(node: Node) -> None:
    """What may not be read or asked is told as that, with exit code 77: never as absent."""
    for words in (["reload"], ["reload", "--wait"], ["reselect"], ["bridge", "remove"], ["bridge", "make"]):
        done = ask(node, *words)
        assert (done.returncode, done.stdout, done.stderr) == (77, "", SUDO), words
    refused = {
        "explain br-ex": "/run/openvswitch/db.sock may not be asked by this user. Run it as root",
        "boot-report": "this user may not read the journal in /var/log/journal. Run it with sudo",
        f"check {node_file('worker-0.yml')}": "worker-0.yml cannot be read: Permission denied. Run it as root",
    }
    node.run(f"chmod 0600 {node_file('worker-0.yml')}")
    for command, said in refused.items():
        done = ask(node, *command.split())
        assert (done.returncode, done.stdout) == (77, ""), (command, done.stderr)
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert causes(node) == []


def test_whoever_may_read_is_answered(node: Node) -> None:
    """Status, choice, settings and the check of a file need no privilege; the journal has a group of its own."""
    for command in ("status", "explain node-ip", "explain hostname --no-dns", "settings", "snapshot", "version"):
        assert ask(node, *command.split()).returncode == 0, command
    done = ask(node, "check", node_file("worker-0.yml"))
    assert (done.returncode, done.stdout[:20]) == (0, "worker-0.yml: good (")
    member = "setpriv --reuid=65534 --regid=65534 --groups=systemd-journal -- nodenetctl boot-report"
    assert "kubelet" in node.run(member).stdout


def test_a_hidden_profile_is_not_absent(node: Node) -> None:
    """Somebody who may ask Open vSwitch, and not see every profile of NetworkManager."""
    node.run("chmod 0666 /run/openvswitch/db.sock")
    add = "nmcli connection add type dummy ifname dummy7 con-name hidden connection.permissions user:root"
    node.run(f"{add} connection.autoconnect no")
    done = ask(node, "explain", "br-ex")
    assert (done.returncode, done.stdout) == (77, ""), done.stderr
    assert "NetworkManager does not show this user every profile" in done.stderr
