"""Does docs/dbus.md tell the truth? Its examples run on a node as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from factories import NodeFactory
from harness import Flavour, Node
from story import settle

PAGE = Path(__file__).resolve().parents[3] / "docs" / "dbus.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
COMMANDS = [line for language, text in BLOCKS if not language for line in text.splitlines() if line]
ELSEWHERE = ("org.nodenet1.Hosted", "org.nodenet1.Ipam")
HERE = [command for command in COMMANDS if not any(name in command for name in ELSEWHERE)]
"""Those that any node answers: nodenet-hosted and nodenet-ipam run where they are switched on."""
WAITS, HOLDS = (text for language, text in BLOCKS if language == "python")
EXPECTED = {
    # what each command's answer has in it; those that watch are given a change of a stage to see
    "busctl tree": "/org/nodenet1/stage/configure_ovs",
    "busctl introspect org.nodenet1 /org/nodenet1\n": "org.nodenet1.Manager",
    "busctl introspect org.nodenet1 /org/nodenet1/stage": "org.nodenet1.Stage",
    "busctl get-property": '"ok"',
    "busctl call": "",
    "busctl monitor": "StageChanged",
    "gdbus introspect": "interface org.nodenet1.Stage",
    "gdbus call": "node_ips",
    "gdbus monitor": "StageChanged",
}
AS_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups env PYTHONPATH=/usr/lib/nodenet python3"
A_CHANGE = "busctl call org.nodenet1 /org/nodenet1 org.nodenet1.Manager RunStage s nmstate"


@pytest.fixture
def node(product_node: NodeFactory) -> Node:
    """A node whose boot is over, with the programs of the page."""
    made = product_node(files={"/opt/waits.py": WAITS, "/opt/holds.py": HOLDS}, flavour=Flavour.OPENSHIFT)
    if gdbus := shutil.which("gdbus"):  # Debian's package of it is not part of a node
        made.write("/usr/bin/gdbus", Path(gdbus).read_bytes(), 0o755)
    made.boot()
    settle(made)
    return made


def test_every_command(node: Node) -> None:
    """Each one answers, and with what it is there for."""
    left = dict(EXPECTED)
    for command in HERE:
        (key,) = (each for each in EXPECTED if f"{command}\n".startswith(each))
        if command.startswith("gdbus") and node.run("command -v gdbus", check=False).returncode:
            pytest.skip("this machine has no gdbus to lend to the node")
        if " monitor " in command:
            changes = f"for _ in 1 2 3 4; do sleep 2; {A_CHANGE}; done"  # the monitor may need some seconds to begin
            said = node.run(f"timeout 12 {command} >/run/seen & {changes}; wait; cat /run/seen", timeout=60).stdout
        else:
            said = node.run(command).stdout
        assert EXPECTED[key] in said, command
        left.pop(key, None)
    assert left == {}, "the page has lost an example, or this test has one too many"


def test_the_program_that_waits(node: Node) -> None:
    """For any account: when the stage is over already, and when nodenetd comes only later."""
    assert node.run(f"{AS_NOBODY} /opt/waits.py").stdout == "done\n"
    node.run("systemctl stop nodenetd")
    node.run(f"systemd-run --unit=lab-waits --property=StandardOutput=file:/run/waits {AS_NOBODY} /opt/waits.py")
    node.wait_until("systemctl is-active lab-waits")
    node.run("systemctl start nodenetd")
    node.wait_until("grep -qx done /run/waits", timeout=20)
    node.run("nodenetctl wait nodeip --timeout 300")


def test_the_program_that_holds_a_stage(node: Node) -> None:
    """While its work is done others see who holds the stage and why; afterwards nobody does."""
    held = "busctl get-property org.nodenet1 /org/nodenet1/stage/configure_ovs org.nodenet1.Stage Held"
    node.write("/usr/local/sbin/flash-nic", f"#!/bin/sh\n{held} >/run/held\n", 0o755)
    node.run("env PYTHONPATH=/usr/lib/nodenet python3 /opt/holds.py")
    assert '"firmware update" "the NIC is being flashed"' in node.run("cat /run/held").stdout
    node.wait_until(f"{held} | grep -q ' 0$'", timeout=5)
