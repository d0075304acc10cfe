"""The page of a node: of one that is well, of one with a wrong file, without nodenetd, that waits, and with br-ex."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from br_ex.test_make import BRIDGED, SETTINGS
from browser import Page, opened, printed, shot
from cli.test_main import environment
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import BRIDGE, STATIC, node_file, settle

SECRETS = ("hunter2", "hunter3", "of-comment")
HIDDEN = "  802.1x: {identity: me, eap-methods: [peap], password: 'hunter2'}\n  description: planted # of-comment\n"
PLANTED = STATIC.replace("  state: up\n", f"  state: up\n{HIDDEN}", 1)
WRONG = STATIC.replace("prefix-length", "prefix-lenght")
PAGE = "/run/page.html"


def page_of(node: Node, tmp_path: Path, name: str) -> Page:
    """Return the node's page as Chromium has it; the file and a picture are kept in the directory of the test."""
    node.run(["nodenetctl", "report", "--html", PAGE])
    assert node.run(["stat", "-c", "%a", PAGE]).stdout == "600\n"
    text = node.run(["cat", PAGE]).stdout
    assert len(text.encode()) <= 1_000_000
    assert [word for word in SECRETS if word in text] == []
    path = tmp_path / f"{name}.html"
    path.write_text(text)
    found = opened(path, tmp_path / "chromium")
    assert Page(text).wrong == []
    shot(path, tmp_path / f"{name}.png", tmp_path / "chromium")
    return found


def test_a_node_that_is_well_one_with_a_wrong_file_and_one_without_nodenetd(
    product_node: NodeFactory, tmp_path: Path
) -> None:
    """Light, dark and on paper; the page in the archive is the same, and so is one that is made from the archive."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    well = page_of(node, tmp_path, "well")
    assert well.of("status") == ["ok (kubelet may run)"]
    assert well.of("heading")[0] == "worker-0"
    (drawing,) = (each for each in well.of("img") if "10.88.0.50/24" in each)
    assert "10.88.0.1 gateway answers" in drawing
    (boot,) = (each for each in well.of("img name") if each.startswith("Time line of a boot: worker-0, 20"))
    assert "kubelet started after" in boot
    assert any(each.startswith("@") for each in well.of("header"))
    assert "The network is as the node file asks." in " ".join(well.of("main"))

    node.write(node_file("worker-0.yml"), WRONG)
    node.run("nodenetctl reload --wait", check=False)
    wrong = page_of(node, tmp_path, "wrong")
    (status,) = wrong.of("status")
    assert status.startswith("degraded (kubelet may run) nmstate: worker-0.yml, line 11")
    assert "To do: " in status
    (said,) = (each for each in wrong.of("cell") if each.startswith("Error: "))
    assert "prefix-lenght" in said
    assert any(each.split() == ["prefix-lenght:", "24"] for each in wrong.of("cell"))

    node.write(node_file("worker-0.yml"), PLANTED)
    node.run("systemctl kill --kill-whom=all --signal=KILL nodenetd; systemctl stop nodenetd")
    dead = page_of(node, tmp_path, "dead")
    assert dead.of("status")[0].startswith("nodenetd is not running")
    assert any("password: <hidden>" in each for each in dead.of("cell"))

    printed(tmp_path / "wrong.html", tmp_path / "wrong.pdf", tmp_path / "chromium")
    assert (tmp_path / "wrong.pdf").read_bytes().startswith(b"%PDF")
    shot(tmp_path / "wrong.html", tmp_path / "wrong-dark.png", tmp_path / "chromium", dark=True)
    assert (tmp_path / "wrong-dark.png").read_bytes() != (tmp_path / "wrong.png").read_bytes()

    node.run("nodenetctl report --output /root/report.tar.gz")
    archive = node.path("/root/report.tar.gz")
    unpack = ["tar", "-xzOf", str(archive), "--wildcards", "*/index.html"]
    inside = subprocess.run(unpack, capture_output=True, text=True, check=True)
    command = [sys.executable, "-m", "nodenet.cli.main", "report", "--html", "-", "--from", str(archive)]
    offline = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert Page(inside.stdout).of("heading") == Page(offline.stdout).of("heading")
    assert inside.stdout == offline.stdout


def test_a_node_that_waits(product_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    """The page says what for, and its time line lasts until now."""
    lan.stop_dhcp()
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status | grep -q 'waiting     nodeip'", timeout=90)
    waits = page_of(node, tmp_path, "waits")
    (status,) = waits.of("status")
    assert status.startswith("waiting (kubelet is held back) nodeip: eth0")
    (boot,) = (each for each in waits.of("img") if "so far" in each)
    assert "now, " in boot
    assert "this node has no node file" in " ".join(waits.of("main"))


def test_a_node_with_br_ex(product_node: NodeFactory, lan: Lan, tmp_path: Path) -> None:
    """The bridge is drawn over its uplink, and has the address."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: BRIDGED, node_file("worker-0.yml"): BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    found = page_of(node, tmp_path, "br-ex")
    (drawing,) = (each for each in found.of("img") if "10.88.0.50/24" in each)
    assert drawing.index("eth0 veth") < drawing.index("br-ex Open vSwitch")
