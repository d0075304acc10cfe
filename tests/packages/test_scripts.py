"""Do the scripts of the packages act where they should: on the right root file system, and on what systemd lets them?

The programs that they call record their words; where the kernel has a part, real ones run in a mount namespace in which
this machine is read-only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import build_deb
import build_rpm
import staging
from package_tree import BUILD, small_tree
from tree_files import LIBRARY, UNITS

ROOT = Path(__file__).parents[2]
SYSTEM = "run/systemd/system"
PLACES = ("/run/", "/etc/nodenet", "/etc/systemd/", "/var/lib/", "/usr/lib/", "/usr/libexec/nodenet", "/usr/share/")
RECORDING = """#!/bin/sh
echo "{name} $*" >>{place}/said
{does}
"""
SYSTEMCTL_252 = """
for word do unit=$word; done
case $1:$unit in
is-enabled:{masked}) echo masked; exit 1 ;;
*preset*:{masked} | try-restart:{masked}) echo "$unit is masked." >&2; exit 1 ;;
esac
"""
"""What systemctl answers before version 254: a masked unit is an error for these verbs, also for `try-restart`."""


@dataclass(frozen=True, slots=True)
class Node:
    """A directory that stands for a node's root, and what its programs do."""

    place: Path

    def program(self, name: str, does: str = ":") -> None:
        """Let a program record its words before it does something."""
        path = self.place / "bin" / name
        path.write_text(RECORDING.format(name=name, place=self.place, does=does))
        path.chmod(0o755)

    def running(self) -> None:
        """Let systemd run on it."""
        (self.place / SYSTEM).mkdir(parents=True)

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a script with every path of the node below this directory."""
        for place in PLACES:
            script = script.replace(place, f"{self.place}{place}")
        path = {"PATH": f"{self.place}/bin:{os.environ['PATH']}"}
        return subprocess.run(
            ["sh", "-c", script, "script", *words], text=True, capture_output=True, check=False, env=path
        )

    @property
    def said(self) -> list[str]:
        """What the programs were called with."""
        return (self.place / "said").read_text().splitlines()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node on which every program works and systemd does not run."""
    made = Node(tmp_path)
    for directory in ("bin", "var/lib", f"{LIBRARY}/{BUILD.name}/nodenet"):
        (tmp_path / directory).mkdir(parents=True)
    for name in ("systemd-sysusers", "systemd-tmpfiles", "systemctl", "journalctl", "busctl", "nodenetctl"):
        made.program(name)
    made.program("systemd-detect-virt", "exit 1")
    return made


def deb(name: str) -> str:
    """Return a script of the Debian package."""
    return staging.script((build_deb.HERE / name).read_text(), BUILD.name)


def rpm(section: str, temporary: str = "") -> str:
    """Return a script of the RPM package; *temporary* are its patterns for files of an rpm that was interrupted."""
    text = (build_rpm.HERE / "nodenet.spec").read_text().partition(f"\n%{section}\n")[2].partition("\n%")[0]
    text = text.replace("@OWN@", " ".join(f"/{name}" for name in build_rpm.OWN)).replace("@TEMPORARY@", temporary)
    return staging.script(f"{text}\n", BUILD.name)


CONFIGURE = {"deb": (deb("postinst"), ("configure", "")), "rpm": (rpm("post"), ("1",))}
UPGRADE = {"deb": (deb("postinst"), ("configure", "1.0.0")), "rpm": (rpm("post"), ("2",))}


@pytest.mark.parametrize("form", CONFIGURE)
def test_an_image_is_built_where_systemd_cannot_make_users(node: Node, form: str) -> None:
    """In a chroot without /proc: the units are enabled, and what is missing is named with the remedy."""
    node.program("systemd-sysusers", "exit 1")
    node.program("systemd-tmpfiles", "exit 1")
    script, words = CONFIGURE[form]
    done = node.run(script, *words)
    assert done.returncode == 0
    assert done.stderr == (
        "nodenet: the users of its hosted services are missing, see above. Mount /proc for the installation, or run\n"
        "nodenet: `systemd-sysusers nodenet.conf` on the node before it has hosted services.\n"
    )
    presets = [words for words in node.said if "preset" in words]
    assert presets == [f"systemctl --quiet preset {unit}.service" for unit in ("nodenetd", "nodenet-ready")]
    assert (node.place / "var/lib/nodenet/installed").exists()


@pytest.mark.parametrize("form", CONFIGURE)
@pytest.mark.parametrize("program", ["systemd-sysusers", "systemd-tmpfiles"])
def test_a_running_node_without_users_or_directories_is_not_called_installed(
    node: Node, form: str, program: str
) -> None:
    node.running()
    node.program(program, "exit 1")
    script, words = CONFIGURE[form]
    done = node.run(script, *words)
    assert (done.returncode, done.stderr) == (1, "")
    assert not (node.place / "var/lib/nodenet/installed").exists()


@pytest.mark.parametrize("form", CONFIGURE)
@pytest.mark.parametrize(("masked", "enabled"), [("nodenetd", []), ("nodenet-ready", ["nodenetd"])])
def test_a_unit_that_is_masked_stays_masked(node: Node, form: str, masked: str, enabled: list[str]) -> None:
    """The installation goes on; where nodenetd is masked, kubelet does not wait for it."""
    node.program("systemctl", SYSTEMCTL_252.format(masked=f"{masked}.service"))
    script, words = CONFIGURE[form]
    done = node.run(script, *words)
    assert done.returncode == 0
    assert done.stderr == (
        f"nodenet: {masked}.service is masked, so it is not enabled. After `systemctl unmask {masked}.service`,\n"
        "nodenet: `systemctl enable nodenetd.service nodenet-ready.service` does that.\n"
    )
    presets = [words for words in node.said if "preset" in words]
    assert presets == [f"systemctl --quiet preset {unit}.service" for unit in enabled]


@pytest.mark.parametrize("form", UPGRADE)
def test_the_gate_of_an_adopted_node_is_on_the_disk_before_it_replaces_the_older_one(node: Node, form: str) -> None:
    """A unit file that is empty after a power cut is a masked unit for systemd, and kubelet requires this one."""
    gate, fresh = (node.place / place / "systemd/system/nodenet-ready.service" for place in ("etc", "usr/lib"))
    first = "# Made by `nodenetctl adopt`, removed by `nodenetctl hand-back`.\n"
    for path, text in ((gate, f"{first}old\n"), (fresh, "new\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    node.program("sync", f'case $1 in *.nodenet-new) cat "$1" {gate} >{node.place}/synced; esac')
    script, words = UPGRADE[form]
    done = node.run(script, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert (node.place / "synced").read_text() == f"{first}new\n{first}old\n"
    assert gate.read_text() == f"{first}new\n"
    assert [path.name for path in gate.parent.iterdir()] == [gate.name]


@pytest.mark.parametrize("form", UPGRADE)
def test_an_upgrade_restarts_what_runs_beside_a_masked_unit(node: Node, form: str) -> None:
    """Before systemd 254 `systemctl try-restart` fails for a masked unit."""
    node.running()
    (node.place / "var/lib/nodenet").mkdir()
    (node.place / "var/lib/nodenet/installed").touch()
    node.program("systemctl", SYSTEMCTL_252.format(masked="nodenet-hosted.service"))
    script, words = UPGRADE[form]
    done = node.run(script, *words)
    assert (done.returncode, done.stderr) == (0, "")
    restarts = [words for words in node.said if "try-restart" in words]
    assert restarts == [f"systemctl try-restart --no-block {unit}.service" for unit in ("nodenetd", "nodenet-ipam")]


@pytest.mark.parametrize(("script", "words"), [(deb("prerm"), ("remove",)), (rpm("preun"), ("0",))])
def test_a_chroot_with_the_run_directory_of_its_host_does_not_change_the_host(
    node: Node, script: str, words: tuple[str, ...]
) -> None:
    """The bus of the host can be reached from there: `nodenetctl hand-back` would change the host's network."""
    node.running()
    node.program("systemd-detect-virt", '[ "$*" = "--quiet --chroot" ]')
    marker = node.place / "etc/nodenet/adopted"
    marker.parent.mkdir(parents=True)
    marker.touch()
    done = node.run(script, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert [words.split()[0] for words in node.said] == ["systemd-detect-virt", "systemctl", "systemd-detect-virt"]
    assert " disable " in node.said[1]
    assert not marker.exists()


def make(node: Node, names: Mapping[str, str]) -> None:
    """Make files with this content."""
    for name, content in names.items():
        path = node.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def usr(node: Node) -> set[str]:
    """Return the files below /usr."""
    return {str(path.relative_to(node.place)) for path in (node.place / "usr").rglob("*") if path.is_file()}


KEPT = {f"{LIBRARY}/{BUILD.name}/nodenet/module.py": "", "usr/bin/nodenetctl": "", "usr/bin/other;0123abcd": ""}
OLDER = {f"{LIBRARY}/1.0.0-older/nodenet/module.py": "", f"{LIBRARY}/1.0.0-older/nodenet/module.py.dpkg-new": ""}
TEMPORARY = {f"{LIBRARY}/{BUILD.name}/nodenet/module.py;0123abcd": "", "usr/bin/nodenetctl;0123abcd": ""}


def test_an_installation_removes_what_an_interrupted_one_has_left(node: Node) -> None:
    """Each build has tens of megabytes."""
    make(node, KEPT | OLDER)
    done = node.run(deb("postinst"), "configure", "")
    assert (done.returncode, done.stderr) == (0, "")
    assert usr(node) == set(KEPT)
    make(node, OLDER | TEMPORARY)
    done = node.run(rpm("posttrans", '"/usr/lib/none;"???????? ' + f'"{node.place}/usr/bin/nodenetctl;"????????'), "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert usr(node) == set(KEPT)


def test_a_removal_leaves_no_build(node: Node) -> None:
    """`make install` and nodenet-sysext would take it for a package, and name a remedy that does not help."""
    make(node, OLDER)
    assert node.run(deb("postrm"), "upgrade").returncode == 0
    assert usr(node) == set(OLDER)
    assert node.run(rpm("postun"), "1").returncode == 0
    assert usr(node) == set(OLDER)
    assert node.run(deb("postrm"), "remove").returncode == 0
    assert not (node.place / LIBRARY).exists()
    make(node, OLDER | TEMPORARY)
    assert node.run(rpm("postun", f'"{node.place}/usr/bin/nodenetctl;"????????'), "0").returncode == 0
    assert usr(node) == set()


@pytest.mark.parametrize("other", ["usr/libexec/nodenetd", "var/lib/extensions/nodenet.raw", ""])
def test_a_purge_keeps_settings_and_state_of_another_form(node: Node, other: str) -> None:
    """As where a system extension has followed the package, whose configuration dpkg still knew."""
    files = {"etc/nodenet/nodenet.toml", "var/lib/nodenet/selection.json"}
    make(node, dict.fromkeys({*files, other} - {""}, ""))
    done = node.run(deb("postrm"), "purge")
    said = f"nodenet: this node has nodenet in another form ({node.place}/{other}), so settings and state stay.\n"
    assert (done.returncode, done.stderr) == (0, said if other else "")
    assert {name for name in files if (node.place / name).exists()} == (files if other else set())


CHROOTLESS = """
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
mkdir -p "$1"/var/lib/dpkg/updates "$1"/var/lib/dpkg/info "$1"/etc/nodenet
touch "$1"/var/lib/dpkg/status "$1"/var/lib/dpkg/available "$1"/etc/nodenet/adopted
dpkg="dpkg --log=$1/log --root=$1 --force-script-chrootless --force-depends"
$dpkg --install "$2" >&2
cd "$1"
find etc/systemd -type l
echo =
cut -d: -f1 etc/passwd
echo =
stat -c %a var/lib/nodenet
echo =
$dpkg --remove nodenet >&2
find etc/systemd etc/nodenet -not -type d
echo =
$dpkg --purge nodenet >&2
find . -name '*nodenet*' -not -path './var/lib/dpkg/*' -not -path './run/*'
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("dpkg") is None or shutil.which("systemd-sysusers") is None,
    reason="dpkg and systemd act on a directory, as root",
)
def test_dpkg_without_chroot_changes_nothing_of_the_machine_it_runs_on(tmp_path: Path) -> None:
    """With `--force-script-chrootless` the scripts run on the machine that builds an image; here it is read-only."""
    tree = small_tree(tmp_path / "tree")
    for source, target in UNITS.items():
        (tree / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "units" / source, tree / target)
    package = build_deb.pack(BUILD, tree, tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    command = ["unshare", "--mount", "sh", "-euc", CHROOTLESS, "sh", str(root), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    links, users, mode, removed, purged = (part.split() for part in done.stdout.split("=\n"))
    assert {Path(link).name for link in links} >= {"nodenetd.service", "nodenet-ready.service"}
    assert {"nodenet-dnsmasq", "nodenet-keepalived", "nodenet-haproxy"} <= set(users)
    assert (mode, removed, purged) == (["700"], [], [])
