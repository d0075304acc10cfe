"""Is the Debian package what dpkg expects, the same at each build, and safe to unpack?"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bill_of_materials
import build_deb
import deb_archive
import staging
from nodenet import __version__
from package_tree import BUILD, FILES, small_tree
from tree_files import LIBRARY, version

ROOT = Path(__file__).parents[2]
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")


@pytest.fixture
def deb(tmp_path: Path) -> Path:
    """A package of a small tree."""
    return build_deb.pack(BUILD, small_tree(tmp_path / "tree"), tmp_path)


def field(deb: Path, name: str) -> str:
    """Return a field of the control file."""
    return subprocess.run(["dpkg-deb", "--field", deb, name], check=True, capture_output=True, text=True).stdout.strip()


def listed(deb: Path) -> list[tuple[str, str, str]]:
    """Return mode, owner and path of each entry, in the package's order."""
    lines = subprocess.run(["dpkg-deb", "--contents", deb], check=True, capture_output=True, text=True).stdout
    return [(words[0], words[1], words[5].removeprefix("./")) for line in lines.splitlines() if (words := line.split())]


def test_the_version_is_in_one_place() -> None:
    assert version() == __version__


@needs_dpkg
def test_dpkg_reads_the_package(deb: Path) -> None:
    assert [field(deb, name) for name in ("Package", "Version", "Priority")] == ["nodenet", "1.2.3", "optional"]
    assert 10 <= int(field(deb, "Installed-Size")) <= 100
    assert {re.match(r"[\w-]+", part.strip())[0] for part in field(deb, "Depends").split(",")} == {  # type: ignore[index]
        *("systemd", "default-dbus-system-bus", "network-manager", "iproute2"),
    }
    assert {owner for _, owner, _ in listed(deb)} == {"root/root"}
    assert {mode for mode, _, _ in listed(deb)} == {"drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"}
    documents = {f"{staging.DOCUMENTS}/{name}" for name in ("changelog.gz", "CHANGELOG.md.gz", "copyright")}
    assert {path for mode, _, path in listed(deb) if not mode.startswith("d")} == {
        *(f"{name}.gz" if "/man/" in name else name for name in FILES),
        *documents,
        build_deb.OVERRIDES,
    }


@needs_dpkg
def test_dpkg_puts_the_build_in_place_before_anything_uses_it(deb: Path) -> None:
    """It renames the files in this order: a power cut between leaves the launchers of the older build."""
    files = [path for mode, _, path in listed(deb) if not mode.startswith("d")]
    inside = [path.startswith(f"{LIBRARY}/{BUILD.name}/") for path in files]
    assert True in inside
    assert inside == sorted(inside, reverse=True)


@needs_dpkg
def test_the_sums_are_right(deb: Path, tmp_path: Path) -> None:
    place = tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, place], check=True)
    done = subprocess.run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=place, check=False)
    assert done.returncode == 0
    files = {str(path.relative_to(place)) for path in (place / "usr").rglob("*") if path.is_file()}
    assert files == {line.split("  ", 1)[1] for line in (place / "DEBIAN/md5sums").read_text().splitlines()}


@needs_dpkg
def test_the_bill_has_what_the_package_adds(deb: Path, tmp_path: Path) -> None:
    """Documents, and the manual pages as they are in the package."""
    place = tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "--extract", deb, place], check=True)
    bill = json.loads((place / LIBRARY / BUILD.name / bill_of_materials.NAME).read_text())
    listed = {file["name"]: file["hashes"][0]["content"] for file in bill["metadata"]["component"]["components"]}
    others = [path for path in (place / "usr/share").rglob("*") if path.is_file()]
    assert listed == {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in others}
    assert "usr/share/man/man8/nodenetd.8.gz" in listed


def test_the_same_tree_gives_the_same_package(tmp_path: Path) -> None:
    """Whatever the times of its files are."""
    packages = []
    for name in ("one", "two"):
        tree = tmp_path / name
        for path in ("b/first", "a/second"):
            (tree / path).parent.mkdir(parents=True)
            (tree / path).write_text(path)
        packages.append(deb_archive.package({"control": ("Package: x\n", 0o644)}, tree, "b"))
        (tree / "a/second").touch()
    assert packages[0] == packages[1]


def test_a_removal_disables_every_unit_that_can_be_enabled() -> None:
    """A link that stays would keep kubelet from starting."""
    units = set(staging.enabled_units())
    assert {"nodenetd.service", "nodenet-ready.service", "nodenet-ipam.service", "nodenet-compat.target"} <= units
    every = {path.name for path in (ROOT / "units").rglob("*") if path.suffix in {".service", ".target"}}
    assert {name for name in every if can_be_enabled(name)} == units
    assert " ".join(sorted(units)) in staging.script((ROOT / "packaging/deb/prerm").read_text())


def can_be_enabled(name: str) -> bool:
    """Return whether systemd finds something to enable in a unit."""
    (path,) = (ROOT / "units").rglob(name)
    return "[Install]" in path.read_text().splitlines()


@pytest.mark.parametrize("name", build_deb.SCRIPTS)
def test_the_scripts_are_for_any_shell(name: str) -> None:
    text = staging.script((ROOT / "packaging/deb" / name).read_text())
    assert text.startswith("#!/bin/sh\nset -e\n")
    assert "@" not in text.replace("nodenet-wait@", "")
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_a_removal_where_no_system_runs_leaves_the_former_chain_in_charge(tmp_path: Path) -> None:
    """In a chroot nothing hands the node back; with the marker neither of the two would configure it."""
    text = staging.script((ROOT / "packaging/deb/prerm").read_text())
    for place in ("/run/systemd/system", "/etc/nodenet", "/var/lib/nodenet"):
        text = text.replace(place, f"{tmp_path}{place}")
    marker, systemctl = tmp_path / "etc/nodenet/adopted", tmp_path / "systemctl"
    marker.parent.mkdir(parents=True)
    marker.touch()
    systemctl.write_text("#!/bin/sh\n")
    systemctl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", text, "prerm", "remove"], check=True, env={"PATH": path})
    assert not marker.exists()


def test_a_removal_stops_each_unit_by_itself(tmp_path: Path) -> None:
    """Newer versions of systemd stop none of several units where one is not loaded (exit code 5).

    A unit of an administrator that requires nodenetd or its gate is not stopped with them.
    """
    systemctl, said = tmp_path / "systemctl", tmp_path / "said"
    systemctl.write_text(f"#!/bin/sh\necho $* >>{said}\n[ $1 != stop ] || exit 5\n")
    systemctl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", staging.script("@stop@\n")], check=True, env={"PATH": path})
    assert said.read_text().splitlines() == [
        "daemon-reload",
        *(f"stop --job-mode=ignore-dependencies {unit}" for unit in ("nodenetd.service", "nodenet-ready.service")),
        *(f"stop nodenet-{name}.service" for name in ("ipam", "hosted", "keepalived", "haproxy", "dnsmasq")),
    ]


def test_a_removal_leaves_no_metrics(tmp_path: Path) -> None:
    """Neither in /run nor in the directory of `metrics_dir`; a purge finds nothing to do about them."""
    text = staging.script((ROOT / "packaging/deb/postrm").read_text())
    for place in ("/run/systemd/system", "/run/nodenet", "/etc/nodenet", "/usr/lib/nodenet", "/var/lib/nodenet"):
        text = text.replace(place, f"{tmp_path}{place}")
    files = {
        "var/lib/nodenet/metrics-nodenetd": f"{tmp_path}/textfile/nodenetd.prom\n",
        "var/lib/nodenet/hosted/metrics-nodenet-hosted": f"{tmp_path}/text file/nodenet-hosted.prom\n",
        "var/lib/nodenet/metrics-nodenet-ipam": "",
        "var/lib/nodenet/metrics-other": f"{tmp_path}/textfile\n",  # cannot be removed as a file
        **dict.fromkeys(("textfile/nodenetd.prom", "text file/nodenet-hosted.prom", "run/nodenet/ipam.prom"), "a 1\n"),
        **dict.fromkeys(("textfile/node.prom", "var/lib/nodenet/selection.json"), "kept"),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    for word in ("remove", "remove", "upgrade"):
        subprocess.run(["sh", "-c", text, "postrm", word], check=True)
        left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        assert left == {"textfile/node.prom", "var/lib/nodenet/selection.json"}
    subprocess.run(["sh", "-c", text, "postrm", "purge"], check=True)
    assert not (tmp_path / "var/lib/nodenet").exists()


@pytest.mark.parametrize("form", ["deb", "rpm"])
@pytest.mark.parametrize("there", [True, False])
def test_a_package_of_the_other_package_manager_is_refused(tmp_path: Path, form: str, there: bool) -> None:  # noqa: FBT001
    """Two forms at once: neither of the two would know the files of the other one."""
    if form == "deb":
        script, tool, other = (ROOT / "packaging/deb/preinst").read_text(), "rpm", "an RPM package"
        answer = f"exit {int(not there)}"
    else:
        script = (ROOT / "packaging/rpm/nodenet.spec").read_text().partition("\n%pre\n")[2].partition("\n%")[0]
        tool, other = "dpkg-query", "a Debian package"
        answer = "printf installed" if there else "printf config-files"
    (tmp_path / tool).write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / tool).chmod(0o755)
    text = staging.script(f"{script}\n").replace("/usr/lib/", f"{tmp_path}/usr/lib/")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", text], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == int(there)
    assert (f"nodenet: this node has nodenet as {other}." in done.stderr) == there


@needs_dpkg
def test_a_package_of_another_architecture_is_refused(deb: Path, tmp_path: Path) -> None:
    """Both are named, and nothing is unpacked."""
    other = "arm64" if build_deb.architecture() == "amd64" else "amd64"
    control = subprocess.run(["dpkg-deb", "--field", deb], check=True, capture_output=True, text=True).stdout
    text = control.replace(f"Architecture: {build_deb.architecture()}", f"Architecture: {other}")
    package = tmp_path / "other.deb"
    package.write_bytes(deb_archive.package({"control": (text, 0o644)}, tmp_path / "tree", "usr"))
    root = database(tmp_path / "root")
    done = subprocess.run(["dpkg", f"--root={root}", "--unpack", package], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"package architecture ({other}) does not match system ({build_deb.architecture()})" in done.stderr
    assert not (root / "usr").exists()


@needs_dpkg
@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted")
def test_a_full_disk_leaves_the_older_version(tmp_path: Path) -> None:
    """What dpkg has unpacked is undone: every file of the older version is as it was."""
    packages = []
    for number, size in (("1.0.0", 1), ("1.0.1", 4_000_000)):
        build = dataclasses.replace(BUILD, version=number, compressed=False)
        tree = small_tree(tmp_path / number)
        (tree / "usr/libexec/zz-large").write_bytes(b"x" * size)
        (tree / "usr/bin/nodenetctl").write_text(number)
        packages.append(build_deb.pack(build, tree, tmp_path))
    root = tmp_path / "small"
    root.mkdir()
    command = f"""
mount -t tmpfs -o size=2M tmpfs {root}
mkdir -p {root}/var/lib/dpkg/updates {root}/var/lib/dpkg/info
touch {root}/var/lib/dpkg/status {root}/var/lib/dpkg/available
dpkg --root={root} --force-script-chrootless --force-depends --unpack {packages[0]} >&2
dpkg --root={root} --force-script-chrootless --force-depends --unpack {packages[1]} >&2 && exit 1
cat {root}/usr/bin/nodenetctl
cd {root} && find usr -name '*.dpkg-*'
"""
    done = subprocess.run(["unshare", "--mount", "sh", "-euc", command], capture_output=True, text=True, check=False)
    assert "No space left on device" in done.stderr
    assert (done.stdout, done.returncode) == ("1.0.0", 0), done.stderr


def database(root: Path) -> Path:
    """Make an empty database of dpkg below *root*."""
    place = root / "var/lib/dpkg"
    for name in ("updates", "info"):
        (place / name).mkdir(parents=True)
    for name in ("status", "available"):
        (place / name).touch()
    return root
