"""Does a node keep its network and kubelet its start with nodenet as a system extension, and are bad images refused?"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import build_sysext
from factories import NO_BRIDGE, NodeFactory, installed
from harness import Flavour, Lan, Node
from harness.product import Tree
from package_builds import NEW, OLD, let_one_require_the_gate, named, published, starts_of_kubelet, wait_for, went_on
from pinger import Pinger
from story import CRIO, KUBELET

INSTALLER = "/root/nodenet-sysext"
NOT_MERGED = (
    "nodenet: its system extension is not merged. The reason is in the output of: "
    "SYSTEMD_LOG_LEVEL=debug systemd-sysext refresh"
)
UNITS = "find /etc/systemd/system -name 'nodenet*'"


@pytest.fixture
def images(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Path]:
    """The files of two images by version, read from the images."""
    tree = installed(request, kind=Tree.BUNDLED)
    files = {}
    for build in (OLD, NEW):
        place = named(tree, build, tmp_path / build.name)
        image = build_sysext.pack(build, place, tmp_path)
        files[build.version] = tmp_path / f"files-{build.version}"
        subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", files[build.version], image], check=True)
    return files


def install(node: Node, image: str) -> str:
    """Run the installer, and return what it prints as errors."""
    return node.run([INSTALLER, "install", image], check=False, timeout=90).stderr


def test_install_reboot_upgrade_remove(bare_node: NodeFactory, lan: Lan, images: dict[str, Path]) -> None:
    """Through a boot, kubelet starts behind nodenetd; an upgrade loses no ping; a bad image changes nothing."""
    node = bare_node(flavour=Flavour.OPENSHIFT, files=NO_BRIDGE)
    for version, files in images.items():
        shutil.copytree(files, node.path("/root") / version)
    node.write(INSTALLER, build_sysext.script(), 0o755)
    node.boot()
    node.wait_settled()
    bad_images_are_refused(node)
    node.run([INSTALLER, "install", f"/root/{OLD.version}"], timeout=90)
    assert node.record("kubelet").starts == 1
    assert node.run("systemctl is-active nodenetd.service", check=False).stdout == "inactive\n"
    assert node.run("systemctl is-enabled nodenetd.service nodenet-ready.service").stdout == "enabled\nenabled\n"

    an_extension_that_is_not_merged_is_named(node)
    node.reboot()
    before = published(node)
    assert node.run(f"test -w /usr/lib/nodenet/{OLD.name}", check=False).returncode == 1, "merged read-only"
    assert node.record("kubelet").starts == 1
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == before[0][0]

    with Pinger(lan, before[0][0]) as pinger:
        pinger.wait_for_reply()
        a_full_disk_changes_nothing(node)
        an_image_that_systemd_refuses_changes_nothing(node)
        node.run([INSTALLER, "install", f"/root/{NEW.version}"], timeout=90)
        wait_for(node, NEW)
        assert published(node) == before
        assert node.run("ls /usr/lib/nodenet").stdout == f"{NEW.name}\n"
        pinger.wait_for_reply()
    assert pinger.lost == set()
    assert node.record("kubelet").starts == 1
    assert starts_of_kubelet(node) == 2

    assert node.run("ls /run/nodenet/*.prom").stdout != ""
    let_one_require_the_gate(node)
    node.run([INSTALLER, "remove"], timeout=90)
    went_on(node)
    nothing_is_left(node)
    assert starts_of_kubelet(node) == 3
    one_that_is_not_merged_is_removed_too(node)


def nothing_is_left(node: Node) -> None:
    """Of the program, its units and its metrics; kubelet goes on, and state stays."""
    assert node.run("systemctl is-active kubelet.service").stdout == "active\n"
    assert node.run(UNITS).stdout == ""
    assert node.run("ls -A /var/lib/extensions; ls /run/nodenet/*.prom", check=False).stdout == ""
    assert node.run(f"ls {KUBELET} {CRIO}", check=False).stdout == ""
    node.run("test ! -e /usr/lib/nodenet && test ! -e /usr/bin/nodenetctl && test -d /var/lib/nodenet")


def one_that_is_not_merged_is_removed_too(node: Node) -> None:
    """What nodenetd published below /etc goes as well: the files of the image do that, over /usr for one command."""
    node.run([INSTALLER, "install", f"/root/{OLD.version}"], timeout=90)
    node.run("systemctl start nodenetd.service", timeout=60)
    published(node)
    node.run(
        "systemctl stop nodenetd.service nodenet-hosted.service && systemd-sysext unmerge && systemctl daemon-reload"
    )
    done = node.run([INSTALLER, "remove"], timeout=90)
    assert "can be used" not in done.stderr
    nothing_is_left(node)
    assert node.run([INSTALLER, "remove"], check=False).stderr == (
        "nodenet: this node has no nodenet as a system extension\n"
    )


def bad_images_are_refused(node: Node) -> None:
    """One for another system, one of another architecture, and one that was copied in part, each by its name."""
    release = f"/root/{OLD.version}/{build_sysext.RELEASE}"
    sums = f"/root/{OLD.version}/{build_sysext.SUMS}"
    node.run(f"cp {release} {sums} /tmp; sed -i '/extension-release/d' {sums}")
    node.run(["sh", "-c", f"printf 'ID=debian\\nVERSION_ID=12\\nARCHITECTURE=x86-64\\n' >{release}"])
    refused = install(node, f"/root/{OLD.version}")
    assert f"nodenet: /root/{OLD.version} is for VERSION_ID=12; this system has no VERSION_ID." in refused
    node.run(["sh", "-c", f"printf 'ID=_any\\nARCHITECTURE=arm64\\n' >{release}"])
    assert "is for ARCHITECTURE=arm64; this system has x86-64 ARCHITECTURE." in install(node, f"/root/{OLD.version}")
    node.run(f"cp /tmp/{Path(release).name} {release}; cp /tmp/{Path(sums).name} {sums}")
    program = f"/root/{OLD.version}/usr/libexec/nodenetd"
    node.run(f"mv {program} /tmp/nodenetd")
    refused = install(node, f"/root/{OLD.version}")
    assert "usr/libexec/nodenetd: No such file or directory" in refused
    assert f"nodenet: /root/{OLD.version} is damaged or was copied in part" in refused
    node.run(f"mv /tmp/nodenetd {program}")
    for other in ("/usr/lib/nodenet/nodenet", "/usr/lib/nodenet/1.2.3-abcd/nodenet"):
        node.run(["mkdir", "-p", other])
        assert f"this node has nodenet in another form ({other})" in install(node, f"/root/{OLD.version}")
        node.run(["rmdir", "-p", "--ignore-fail-on-non-empty", other])
    node.run('test -z "$(ls -A /var/lib/extensions)" && test ! -e /etc/systemd/system/nodenetd.service')


def a_full_disk_changes_nothing(node: Node) -> None:
    """The running version goes on, and so does its image."""
    node.run("mount -t tmpfs -o size=1M tmpfs /var/lib/extensions")
    assert f"nodenet: /root/{NEW.version} cannot be copied to /var/lib/extensions." in install(
        node, f"/root/{NEW.version}"
    )
    assert node.run("ls -A /var/lib/extensions").stdout == ""
    node.run("umount /var/lib/extensions")
    assert node.run("ls /usr/lib/nodenet").stdout == f"{OLD.name}\n"
    assert node.run("systemctl is-active nodenetd.service").stdout == "active\n"


def an_image_that_systemd_refuses_changes_nothing(node: Node) -> None:
    """The image before it is in its place again."""
    node.write("/root/refusing/systemd-sysext", "#!/bin/sh\necho refused >&2\nexit 1\n", 0o755)
    done = node.run(f"PATH=/root/refusing:$PATH {INSTALLER} install /root/{NEW.version}", check=False, timeout=90)
    assert f"nodenet: systemd-sysext does not merge /root/{NEW.version}, see its messages above." in done.stderr
    assert node.run("ls -A /var/lib/extensions /var/lib/extensions/nodenet/usr/lib/nodenet").stdout.split() == [
        *("/var/lib/extensions:", "nodenet", "/var/lib/extensions/nodenet/usr/lib/nodenet:", OLD.name),
    ]


def an_extension_that_is_not_merged_is_named(node: Node) -> None:
    """As after an upgrade of the system to a version that the image is not for."""
    node.run("systemd-sysext unmerge")
    assert node.run("systemctl start nodenetd.service", check=False, timeout=60).returncode != 0
    node.run("systemctl stop nodenetd.service")
    node.wait_until(f"journalctl --unit=nodenetd.service --output=cat | grep -xF '{NOT_MERGED}'")
    node.run("systemd-sysext merge")
