"""How does a test get packages of two versions quickly, and what must hold when one replaces the other?

The versions are made from the lab's tree that has its own Python.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from build_interpreter import Interpreter
from harness import Node
from staging import Build
from story import KUBELET, settle
from tree_files import LAUNCHERS, LIBRARY

OLD, NEW = (Build(version, f"{version}-lab", compressed=False) for version in ("1.0.0", "1.0.1"))


HOLDER = "[Unit]\nRequires=nodenetd.service nodenet-ready.service\n[Service]\nExecStart=sleep infinity\n"


def named(tree: Path, build: Build, place: Path) -> Path:
    """Copy a tree of `make tree` to *place*, with the library in the directory of *build* as in a package."""
    shutil.copytree(tree / "usr", place / "usr")
    library = place / LIBRARY
    moved = library.rename(place / "moved")
    library.mkdir()
    moved.rename(library / build.name)
    for program in (place / name for name in LAUNCHERS):
        text = program.read_text().replace(f"/{LIBRARY}/python", f"/{LIBRARY}/{build.name}/python")
        program.write_text(text.replace(f'"/{LIBRARY}"', f'"/{LIBRARY}/{build.name}"'))
    Interpreter.bind(library / build.name / "python", f"/{LIBRARY}/{build.name}/python")
    return place


def published(node: Node) -> tuple[list[str], str, str]:
    """Return what an upgrade must not change: node IPs, kubelet's drop-in, the settings in force."""
    document = settle(node)
    assert document["ready"], document
    settings = node.run("nodenetctl settings").stdout
    return document["node_ips"], node.run(["cat", KUBELET]).stdout, settings


def wait_for(node: Node, build: Build) -> None:
    """Wait until nodenetd of this build runs, and nothing else of it has to start."""
    node.wait_until("test -z \"$(systemctl list-jobs --no-legend 'nodenet*')\"")
    node.wait_until(f"grep -q /{build.name}/ /proc/$(systemctl show -P MainPID nodenetd.service)/maps")


def let_one_require_the_gate(node: Node) -> None:
    """Start a unit of an administrator that requires nodenetd and its gate, by its own word."""
    node.write("/etc/systemd/system/lab-holder.service", HOLDER)
    node.run("systemctl daemon-reload && systemctl start lab-holder.service", timeout=60)


def went_on(node: Node) -> None:
    """Assert that a removal has stopped nodenetd and its gate, and neither kubelet nor what an administrator added."""
    shown = node.run("systemctl is-active kubelet lab-holder nodenetd nodenet-ready", check=False).stdout
    assert shown.split() == ["active", "active", "inactive", "inactive"]
    node.run("systemctl stop lab-holder.service")


def starts_of_kubelet(node: Node) -> int:
    """Restart kubelet, wait until it runs, and return how often it has started."""
    node.run(["systemctl", "restart", "kubelet.service"], timeout=90)
    return node.record("kubelet").starts
