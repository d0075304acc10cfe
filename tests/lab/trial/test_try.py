"""A node file on trial: kept only where an administrator confirms it, before again in every other case."""

from __future__ import annotations

import json
import sys
import time
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.core.messages import Message
from story import STATIC, causes, disk_times, network, node_file, nothing_left, settle, status, story, with_mtu

OWN = node_file("worker-0.yml")
NEW = "/root/new.yml"
"""nodenetd does not see this directory."""
NEW_ADDRESS = "10.88.0.50"
GONE = "- name: br7\n  type: linux-bridge\n  state: absent\n"
SHELL = {
    "/etc/systemd/system/shell.socket": "[Socket]\nListenStream=2222\nAccept=yes\n",
    "/etc/systemd/system/shell@.service": (
        "[Service]\nExecStart=-/bin/sh -s\nStandardInput=socket\nStandardOutput=socket\nStandardError=socket\n"
    ),
}
"""Sessions over the network, as sshd gives them."""
SESSION = """import socket, sys
session = socket.create_connection((sys.argv[1], 2222), timeout=4)
session.sendall(sys.argv[2].encode() + b"\\nexit\\n")
try:
    while data := session.recv(4096):
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
except TimeoutError:
    print("the session is dead")
"""


def session(lan: Lan, address: str, command: str) -> str:
    """Run *command* in a session over *address*; return its output until it ends, or nothing has come for 4 s."""
    return lan.run(sys.executable, "-c", SESSION, address, command)


def booted(product_node: NodeFactory, lan: Lan) -> tuple[Node, dict[str, Any]]:
    """Return a ready node with DHCP and an MTU of 1400, and its network."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={OWN: with_mtu(1400), NEW: STATIC, **SHELL, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.run("nmcli connection add type bridge ifname br7 con-name br7 stp no ip4 198.51.100.7/24")
    node.wait_until("ip address show br7 | grep -q 198.51.100.7", timeout=30)
    node.run("systemctl start shell.socket")
    return node, state(node)


def state(node: Node) -> dict[str, Any]:
    """Return the network, with its profiles but for the time of their last activation."""
    found = network(node)
    found["keyfiles"] = node.run("cd /etc/NetworkManager/system-connections && grep -v ^timestamp= *").stdout
    return {part: found[part] for part in ("addresses", "routes", "keyfiles", "resolv.conf")}


def tried(node: Node, words: str, name: str = "/tmp/try") -> None:  # noqa: S108 -- the node's, not ours
    """Begin a trial in the background; return when it holds. A shell lets its background ignore SIGINT.

    *name*.out gets what it prints, *name*.pid its process.
    """
    node.run(f"setsid env --default-signal=INT nodenetctl try {words} >{name}.out 2>&1 & echo $! >{name}.pid")
    node.wait_until('nodenetctl status --json | grep -q \'"state": "holding"\'', timeout=30)


def as_before(node: Node, before: dict[str, Any]) -> None:
    """Wait until the trial has ended, all stages are over, and the network is as it was; no record is left."""
    node.wait_until("test ! -e /var/lib/nodenet/change.json", timeout=60)
    node.wait_until('nodenetctl status --json | grep -q \'"state": "holding"\' && exit 1 || exit 0', timeout=30)
    end = time.monotonic() + 60
    while (found := state(node)) != before and time.monotonic() < end:
        time.sleep(0.5)
    assert found == before
    node.wait_until("nodenetctl status --json | grep -q '\"stage\": null'", timeout=60)
    assert node.run(f"cat {OWN}").stdout == with_mtu(1400)
    document = status(node)
    assert (document["health"], document["node_file"]) == ("ok", "worker-0.yml"), document["problems"]


def test_a_trial_that_takes_the_address_away(product_node: NodeFactory, lan: Lan) -> None:
    """Reverted at its time; nothing else changes the network meanwhile; confirmed over the new address it is kept."""
    node, before = booted(product_node, lan)
    (old,) = node.addresses()
    old = old.partition("/")[0]
    refused = node.run(f"nodenetctl try {OWN}", check=False)
    assert refused.returncode == 64
    assert "worker-0.yml asks for what is there already: there is nothing to try" in refused.stderr
    assert node.run("nodenetctl confirm", check=False).returncode == 64
    assert state(node) == before
    difference = json.loads(node.run(f"nodenetctl diff --json {NEW}", check=False).stdout)
    assert any(f"the node IP {old} leaves eth0" in each for each in difference["means"])
    assert node.run("nodenetctl diff").stdout == "worker-0.yml changes nothing on this node.\n"

    said = session(lan, old, f"nodenetctl try {NEW} --for 5")
    assert f"Attention: the node IP {old} leaves eth0" in said
    assert said.endswith("the session is dead\n")
    node.wait_until("nodenetctl status --json | grep -q 'its time is over'", timeout=60)
    as_before(node, before)
    assert status(node)["trial"]["cause"] == "its time is over, and it was not confirmed"
    explained = node.run("nodenetctl explain nmstate", check=False)
    assert explained.returncode == 1
    assert explained.stdout.endswith("new.yml is not kept.\nits time is over, and it was not confirmed.\n")

    tried(node, f"{NEW} --for 300")
    for command in ("nodenetctl reload --wait", f"nodenetctl try {NEW}", "nodenetctl bridge make"):
        done = node.run(command, check=False)
        assert done.returncode == 75, (command, done.stderr)
        assert "a trial of new.yml holds the network" in done.stderr
        assert "root (process " in done.stderr
    node.run("kill -INT $(cat /tmp/try.pid)")
    as_before(node, before)
    node.wait_until("grep -q 'the trial has ended, the network is as before: an administrator' /tmp/try.out")

    tried(node, f"{NEW} --for 300")
    node.run(f"echo '# edited' >>{OWN}")
    assert "edited during the trial" in session(lan, NEW_ADDRESS, "nodenetctl confirm")
    node.run(f"cp {OWN.rpartition('/')[0]}/applied {OWN}")
    assert "is on trial now, and not abcdef" in session(lan, NEW_ADDRESS, "nodenetctl confirm --digest abcdef")
    assert node.run("nodenetctl explain nmstate", check=False).returncode == 1  # not before it is confirmed
    confirmed = session(lan, NEW_ADDRESS, "nodenetctl confirm 2>/dev/null")
    assert confirmed == f"confirmed: new.yml is installed as {OWN}\n"
    assert node.run(f"cat {OWN}").stdout == STATIC
    node.wait_until("nodenetctl status --json | grep -q '\"stage\": null'", timeout=60)
    node.wait_until(f"grep -q 'Confirmed; installed as {OWN}' /tmp/try.out")
    document = status(node)
    assert document["digest"] == document["applied_digest"]
    assert "new.yml was kept." in node.run("nodenetctl explain nmstate").stdout
    assert [each["cause"] for each in document["problems"] if each["stage"] == "nmstate"] == []
    assert json.loads(node.run("nodenetctl history --json").stdout)["entries"][0]["kind"] == "trial"
    messages = [entry.get("MESSAGE_ID") for entry in story(node)]
    assert messages.count(Message.TRIAL_CONFIRMED.value) == 1
    nothing_left(node)


def test_profiles_that_other_programs_make_during_a_trial_stay(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager's rollback deletes them: libnmstate's checkpoints have DELETE_NEW_CONNECTIONS."""
    node, _ = booted(product_node, lan)
    tried(node, f"{NEW} --for 300")
    node.run("nmcli connection add type ethernet ifname eth9 con-name storage ip4 10.77.0.1/24")
    node.run("nmcli connection add type bridge ifname br-vm con-name br-vm stp no ip4 10.78.0.1/24")
    node.wait_until("ip address show br-vm | grep -q 10.78.0.1", timeout=30)
    assert node.run("nodenetctl rollback").stdout == "rolled back: the network is as it was before the trial\n"
    names = node.run("nmcli -t -f NAME connection").stdout.split("\n")
    assert {"storage", "br-vm"} <= set(names)
    node.wait_until("ip address show br-vm | grep -q 10.78.0.1", timeout=30)
    files = node.run("ls /etc/NetworkManager/system-connections").stdout
    assert "storage.nmconnection" in files
    assert "br-vm.nmconnection" in files


def test_whatever_dies_during_a_trial_the_network_is_as_before(product_node: NodeFactory, lan: Lan) -> None:
    """The program that started it, nodenetd, NetworkManager, the node."""
    node, before = booted(product_node, lan)
    tried(node, f"{NEW} --for 300")
    node.run("kill -9 -$(cat /tmp/try.pid)")
    assert status(node)["trial"]["state"] == "holding"  # the trial is not the program's
    assert node.run("nodenetctl rollback").stdout == "rolled back: the network is as it was before the trial\n"
    as_before(node, before)

    tried(node, f"{NEW} --for 300")
    node.run("systemctl kill --kill-whom=main -s KILL nodenetd")
    node.wait_until("test ! -e /var/lib/nodenet/change.json", timeout=60)
    settle(node)
    as_before(node, before)

    tried(node, f"{NEW} --for 300")
    node.run("systemctl restart NetworkManager")
    as_before(node, before)

    node.write(NEW, STATIC.replace("interfaces:\n", f"interfaces:\n{GONE}"))  # a link that no file of the node has
    tried(node, f"{NEW} --for 300")
    node.run("systemctl restart NetworkManager")
    as_before(node, before)

    tried(node, f"{NEW} --for 300")
    node.run("sync")
    node.power_cut()
    node.boot()
    assert settle(node)["health"] == "ok"
    as_before(node, before)
    assert causes(node) == []
    nothing_left(node)


def test_what_a_trial_prints_and_a_terminal_that_is_closed(product_node: NodeFactory, lan: Lan) -> None:
    """Lines, documents, a countdown; a closed terminal does not end the trial, Ctrl-C ends it while it is applied."""
    node, before = booted(product_node, lan)
    node.write(NEW, with_mtu(1300))
    plain = node.run(f"nodenetctl try {NEW} --for 5", check=False, timeout=60)
    assert plain.returncode == 1
    lines = plain.stdout.splitlines()
    assert lines[:2] == ["eth0", "  mtu  1400 -> 1300"]
    assert "Applied. Rolled back in 5 s unless you run `nodenetctl confirm`" in lines
    assert plain.stderr.endswith("the network is as before: its time is over, and it was not confirmed\n")
    as_before(node, before)

    documents = node.run(f"nodenetctl try {NEW} --for 5 --json", check=False, timeout=60).stdout.splitlines()
    first, *held, last = [json.loads(line) for line in documents]
    assert (first["event"], first["changes"][0]["key"]) == ("changes", "mtu")
    assert {each["event"] for each in held} == {"holding"}
    assert (last["event"], last["state"]) == ("ended", "rolled-back")
    as_before(node, before)

    command = f"script -qefc 'nodenetctl try {NEW} --for 300' /tmp/terminal"
    node.run(f"setsid {command} </dev/null >/dev/null 2>&1 & echo $! >/tmp/try.pid")
    node.wait_until("test $(tr '\\r' '\\n' </tmp/terminal | grep -c '^Applied. Rolled back in  29') -gt 1", timeout=30)
    node.run("pgrep -f '[n]odenetctl try'")
    node.run("kill -KILL $(cat /tmp/try.pid)")
    node.wait_until("! pgrep -f '[n]odenetctl try'")
    assert status(node)["trial"]["state"] == "holding"
    node.run("nodenetctl rollback")
    as_before(node, before)

    node.run(f"timeout --signal=INT 0.4 nodenetctl try {NEW} --for 300", check=False, timeout=60)
    as_before(node, before)
    assert node.run("ls /run/nodenet/try").stdout == ""

    tried(node, f"{NEW} --for 300 --json", "/tmp/first")  # noqa: S108
    node.run("kill -STOP $(cat /tmp/first.pid); nodenetctl rollback")
    as_before(node, before)
    tried(node, f"{NEW} --for 300")
    node.run("kill -INT $(cat /tmp/first.pid); kill -CONT $(cat /tmp/first.pid)")
    node.wait_until("grep -q 'the trial is over, and another one, of new.yml, has begun since' /tmp/first.out")
    assert status(node)["trial"]["state"] == "holding"
    node.run(f"echo '# edited' >>{OWN}; kill -INT $(cat /tmp/try.pid)")
    node.wait_until("grep -q 'worker-0.yml was edited during the trial and is not applied' /tmp/try.out", timeout=60)
    node.run(f"cp {OWN.rpartition('/')[0]}/applied {OWN}")
    as_before(node, before)
    nothing_left(node)


REFUSED = {
    "torn.yml": ("interfaces: [\n", 65, "torn.yml, line 2"),
    "unknown key.yml": ("interfaces:\n- name: eth0\n  type: ethernet\n  mtuu: 1400\n", 65, "mtuu"),
    "list.yml": (GONE, 65, "list.yml"),
    "no port.yml": (
        "interfaces:\n- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eth9]}}\n",
        65,
        "bond0 has the port eth9, and this host has no such link",
    ),
    "empty.yml": ("# later\n", 65, "empty.yml asks for nothing"),
    "name.yml": (
        f"hostname: {{config: other}}\n{with_mtu(1300)}",
        64,
        "name.yml changes hostname, which NetworkManager",
    ),
    "two\nlines.yml": (with_mtu(1300), 64, "a file on trial cannot have the name 'two\\nlines.yml'"),
}
"""Files that no trial takes: text, exit code, and what is said."""


def test_a_file_that_is_refused_touches_nothing(product_node: NodeFactory, lan: Lan) -> None:
    """By nodenetctl, and by nodenetd where another program asks."""
    node, before = booted(product_node, lan)
    records = disk_times(node)
    for name, (text, code, said) in REFUSED.items():
        node.write(f"/root/{name}", text)
        done = node.run(["nodenetctl", "try", f"/root/{name}"], check=False, timeout=60)
        assert (done.returncode, said in done.stderr) == (code, True), (name, done.stdout, done.stderr)
        if code == 65:
            staged = f"/run/nodenet/try/{sha256(text.encode()).hexdigest()}.yml"
            node.run(["/bin/sh", "-c", f"umask 077; mkdir -p /run/nodenet/try; cat >{staged}"], stdin=text)
            call = ["busctl", "call", "org.nodenet1", "/org/nodenet1", "org.nodenet1.Manager", "Try", "ssus"]
            asked = node.run([*call, name, PurePath(staged).stem, "60", "root"], check=False)
            assert (asked.returncode, said in asked.stderr) == (1, True), (name, asked.stderr)
    printed = node.run("nodenetctl try --json /root/name.yml", check=False, timeout=60).stdout.splitlines()
    first, last = map(json.loads, printed)
    assert (first["event"], last["event"], last["state"], last["edited"]) == ("changes", "ended", "failed", None)
    assert last["cause"].startswith("name.yml changes hostname")
    assert (state(node), disk_times(node)) == (before, records)
    assert node.run("ls /run/nodenet/try; test ! -e /var/lib/nodenet/change.json").stdout == ""
    document = status(node)
    assert (document["health"], document["problems"], causes(node)) == ("ok", [], [])
    nothing_left(node)
