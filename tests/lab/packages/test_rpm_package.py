"""Does a node keep its network and kubelet its start when the RPM package is installed, upgraded and removed?

The node is Debian with rpm: what the package requires is named otherwise there, hence `--nodeps`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import build_rpm
from factories import NO_BRIDGE, NodeFactory, installed, uncaptured
from harness import Flavour, Lan
from harness.product import Tree
from harness.rootfs import DEFAULT, packages
from package_builds import NEW, OLD, let_one_require_the_gate, named, published, starts_of_kubelet, wait_for, went_on
from pinger import Pinger

LINKS = "find /etc/systemd/system -type l -lname '*nodenet*'"


@pytest.fixture
def rpms(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """The two packages."""
    tree = installed(request, kind=Tree.BUNDLED)
    return [build_rpm.pack(build, named(tree, build, tmp_path / build.name), tmp_path) for build in (OLD, NEW)]


def test_install_upgrade_downgrade_remove(
    bare_node: NodeFactory, lan: Lan, rpms: list[Path], request: pytest.FixtureRequest
) -> None:
    """After each, kubelet starts; the running node loses no ping."""
    with uncaptured(request):
        rpm = packages(DEFAULT, "rpm")
    node = bare_node(flavour=Flavour.OPENSHIFT, files=NO_BRIDGE, layers=[rpm])
    for package in rpms:
        node.write(f"/root/{package.name}", package.read_bytes())
    old, new = (f"/root/{build_rpm.file_name(build)}" for build in (OLD, NEW))
    node.boot()
    node.wait_settled()
    other = "/usr/lib/nodenet/nodenet"
    node.run(["mkdir", "-p", other])
    refused = node.run(["rpm", "--install", "--nodeps", old], check=False, timeout=90)
    assert refused.returncode != 0
    assert f"nodenet: this node has nodenet from `make install` ({other})." in refused.stderr
    node.run(f"rmdir -p --ignore-fail-on-non-empty {other} && ! test -e /usr/bin/nodenetctl")
    release = "/usr/lib/extension-release.d/extension-release.nodenet"
    node.run(f"mkdir -p {Path(release).parent} && touch {release}")
    refused = node.run(["rpm", "--install", "--nodeps", old], check=False, timeout=90)
    assert refused.returncode != 0
    assert "nodenet: this node has nodenet as a system extension (/var/lib/extensions)." in refused.stderr
    node.run(f"rm {release} && ! test -e /usr/bin/nodenetctl")

    node.run(["rpm", "--install", "--nodeps", old], timeout=90)
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert node.run("systemctl is-enabled nodenetd.service nodenet-ready.service").stdout == "enabled\nenabled\n"
    assert starts_of_kubelet(node) == 2
    before = published(node)
    with Pinger(lan, before[0][0]) as pinger:
        pinger.wait_for_reply()
        node.run(["rpm", "--upgrade", "--nodeps", new], timeout=90)
        wait_for(node, NEW)
        assert published(node) == before
        assert node.run("ls /usr/lib/nodenet").stdout == f"{NEW.name}\n"
        node.run(["rpm", "--upgrade", "--nodeps", "--oldpackage", old], timeout=90)
        wait_for(node, OLD)
        assert published(node) == before
        assert node.run(["rpm", "--verify", "nodenet", "--nodeps"]).stdout == ""
        pinger.wait_for_reply()
    assert pinger.lost == set()
    assert starts_of_kubelet(node) == 3

    let_one_require_the_gate(node)
    node.run(["rpm", "--erase", "nodenet"], timeout=90)
    went_on(node)
    assert node.run(f"{LINKS}; ls /run/nodenet/*.prom", check=False).stdout == ""
    assert starts_of_kubelet(node) == 4
    node.run("test ! -e /usr/lib/nodenet && test ! -e /usr/share/nodenet && test -d /var/lib/nodenet")
