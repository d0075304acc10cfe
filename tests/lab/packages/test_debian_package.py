"""Does a node keep its network and kubelet its start when the Debian package is installed, upgraded and removed?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import build_deb
import staging
from build_interpreter import Interpreter
from factories import NO_BRIDGE, NodeFactory, uncaptured
from harness import Flavour, Lan, Node
from nodenet.core.resolver import HEADER, NOTE
from package_builds import NEW, OLD, let_one_require_the_gate, published, starts_of_kubelet, wait_for, went_on
from pinger import Pinger
from story import CRIO, KUBELET, settle
from tree_files import LAUNCHERS, LIBRARY

RESOLV_CONF = "/etc/resolv.conf"
LINKS = "find /etc/systemd/system -type l -lname '*nodenet*'"


@pytest.fixture
def debs(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """The two packages; the second one is the first one's tree in another directory."""
    tree = tmp_path / "tree"
    with uncaptured(request):
        staging.stage(OLD, tree)
    shutil.copytree(tree, tmp_path / "first")
    old = build_deb.pack(OLD, tmp_path / "first", tmp_path)
    moved = (tree / LIBRARY / OLD.name).rename(tree / LIBRARY / NEW.name)
    for program in (tree / name for name in LAUNCHERS):
        program.write_bytes(program.read_bytes().replace(OLD.name.encode(), NEW.name.encode()))
    Interpreter.bind(moved / "python", f"/{LIBRARY}/{NEW.name}/python")
    return [old, build_deb.pack(NEW, tree, tmp_path)]


def dpkg(node: Node, *words: str) -> None:
    """Run dpkg as apt does."""
    node.run(["env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *words], timeout=120)


def install(node: Node, build: staging.Build) -> None:
    """Install a version, and wait until it runs if an older one did."""
    dpkg(node, "--install", f"/root/{build_deb.file_name(build)}")
    if node.run("systemctl is-active nodenetd.service", check=False).returncode == 0:
        wait_for(node, build)


def test_install_upgrade_downgrade_remove_purge(bare_node: NodeFactory, lan: Lan, debs: list[Path]) -> None:
    """After each, kubelet starts; the running node loses no ping; a power cut during the upgrade does no harm."""
    node = bare_node(flavour=Flavour.OPENSHIFT, files=NO_BRIDGE)
    for deb in debs:
        node.write(f"/root/{deb.name}", deb.read_bytes())
    node.boot()
    node.wait_settled()
    two_forms_are_refused(node)
    dpkg(node, "--install", f"/root/{build_deb.file_name(OLD)}")
    assert node.record("kubelet").starts == 1
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert node.run("systemctl is-enabled nodenetd.service nodenet-ready.service").stdout == "enabled\nenabled\n"
    assert starts_of_kubelet(node) == 2
    before = published(node)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == before[0][0]

    cut_during_the_upgrade(node)
    assert published(node) == before
    assert node.record("kubelet").starts == 1

    with Pinger(lan, before[0][0]) as pinger:
        pinger.wait_for_reply()
        install(node, NEW)
        assert published(node) == before
        assert node.run("ls /usr/lib/nodenet").stdout == f"{NEW.name}\n"
        install(node, OLD)
        assert published(node) == before
        pinger.wait_for_reply()
    assert pinger.lost == set()
    assert node.record("kubelet").starts == 1
    assert starts_of_kubelet(node) == 2

    let_one_require_the_gate(node)
    node.write(RESOLV_CONF, (HEADER + NOTE).decode() + "nameserver 10.88.0.1\n")
    dpkg(node, "--remove", "nodenet")
    went_on(node)
    assert node.run(f"ls {KUBELET} {CRIO}", check=False).stdout == ""
    assert "nodenetd" not in node.run(["cat", RESOLV_CONF]).stdout
    assert "nameserver 10.88.0.1" in node.run(["cat", RESOLV_CONF]).stdout
    assert node.run(f"{LINKS}; ls /run/nodenet/*.prom", check=False).stdout == ""
    assert starts_of_kubelet(node) == 3
    node.run("test ! -e /usr/lib/nodenet && test -d /var/lib/nodenet && test -d /etc/nodenet")
    dpkg(node, "--purge", "nodenet")
    node.run("test ! -e /var/lib/nodenet && test ! -e /etc/nodenet")


def two_forms_are_refused(node: Node) -> None:
    """Over a tree of `make install` the package is not unpacked, and says why."""
    tree = "/usr/lib/nodenet/nodenet"
    node.run(["mkdir", "-p", tree])
    done = node.run(["dpkg", "--install", f"/root/{build_deb.file_name(OLD)}"], check=False, timeout=120)
    assert done.returncode != 0
    assert f"nodenet: this node has nodenet from `make install` ({tree})." in done.stderr
    node.run(f"rmdir -p --ignore-fail-on-non-empty {tree} && ! test -e /usr/bin/nodenetctl")
    release = "/usr/lib/extension-release.d/extension-release.nodenet"
    node.run(f"mkdir -p {Path(release).parent} && touch {release}")
    done = node.run(["dpkg", "--install", f"/root/{build_deb.file_name(OLD)}"], check=False, timeout=120)
    assert done.returncode != 0
    assert "nodenet: this node has nodenet as a system extension (/var/lib/extensions)." in done.stderr
    node.run(f"rm {release} && ! test -e /usr/bin/nodenetctl")


def cut_during_the_upgrade(node: Node) -> None:
    """Cut the power while dpkg unpacks: the next boot has one whole version."""
    node.run(f"systemd-run --collect --unit=lab-upgrade dpkg --install /root/{build_deb.file_name(NEW)}")
    node.wait_until(f"test -e /usr/lib/nodenet/{NEW.name}/nodenet")
    node.power_cut()
    node.boot()
    settle(node)
    builds = set(
        node.run("cut -c -60 /usr/bin/nodenetctl /usr/libexec/nodenetd | grep -o '[0-9.]*-lab'").stdout.split()
    )
    assert builds <= {OLD.name, NEW.name}
    assert node.run("nodenetctl version").stdout.startswith("nodenet ")
