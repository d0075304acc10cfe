"""Does the wheel give `nodenetctl` on a machine that is no node: without root, daemon, libnmstate?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from nodenet.cli.main import VERBS

ROOT = Path(__file__).parents[2]
BACKEND = "setuptools==80.9.0"
SNAPSHOT = next(iter(sorted((ROOT / "fixtures/node_ip").glob("*/snapshot.json"))))
NODE = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: true}
"""
PIP = (sys.executable, "-m", "pip")
QUIET = ("--quiet", "--disable-pip-version-check", "--no-deps")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the checkout; what builds it is kept beside the packages of the installation."""
    shelf = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet" / "wheel-backend" / BACKEND
    if not shelf.exists():
        fresh = tmp_path_factory.mktemp("backend") / "fresh"
        subprocess.run([*PIP, "install", *QUIET, "--target", str(fresh), BACKEND], check=True)
        shutil.copytree(fresh, shelf)
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "daemon", source / "daemon", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    words = [*PIP, "wheel", *QUIET, "--no-build-isolation", "--no-index", "-w", str(built), str(source)]
    subprocess.run(words, check=True, env=os.environ | {"PYTHONPATH": str(shelf)})
    return next(built.glob("nodenet-*-py3-none-any.whl"))


@pytest.fixture
def workstation(wheel: Path, tmp_path: Path) -> Path:
    """Return the directory of programs of a fresh environment: the wheel, the packages it asks for, no libnmstate."""
    venv.create(tmp_path / "env", with_pip=False)
    programs = tmp_path / "env/bin"
    found = subprocess.run(
        [programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    library = Path(found.stdout.strip())
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("libnmstate", "nodenet", "__editable__")) and package.suffix != ".pth":
            (library / package.name).symlink_to(package)
    words = [*PIP, "--python", str(programs / "python"), "install", *QUIET, "--no-index", str(wheel)]
    subprocess.run(words, check=True)
    return programs


def nodenetctl(programs: Path, *words: str | Path) -> tuple[int, str]:
    """Run it as an unprivileged user would start it, without this checkout on its path."""
    given = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [programs / "nodenetctl", *words], capture_output=True, text=True, check=False, env=given, cwd=programs.parent
    )
    return done.returncode, done.stdout + done.stderr


def test_a_workstation_has_what_needs_no_node(workstation: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    (nodes / "worker-0.yml").write_text(NODE)
    code, text = nodenetctl(workstation, "day-one", "show", nodes)
    assert code == 0
    assert "worker-0.yml" in text
    code, text = nodenetctl(workstation, "explain", "node-ip", "--snapshot", SNAPSHOT)
    assert code == 0
    assert "VERDICT" in text
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "worker-0.json").write_bytes(Path(SNAPSHOT).read_bytes())
    code, text = nodenetctl(workstation, "fleet", tmp_path / "fleet", "--html", tmp_path / "fleet.html")
    assert code == 0, text
    code, text = nodenetctl(workstation, "what-if", tmp_path / "fleet", "--files", nodes)
    assert "worker-0.yml" in text, text
    code, text = nodenetctl(workstation, "check", nodes)
    assert code == 69, "libnmstate judges a node file, and is not there"
    assert "worker-0.yml cannot be checked: No module named 'libnmstate'. Install python3-libnmstate" in text


def test_editors_find_the_schema_of_node_files_in_the_wheel(workstation: Path) -> None:
    (found,) = workstation.parent.glob("lib/python3.*/site-packages/nodenet/node-file.schema.json")
    assert found.read_bytes() == (ROOT / "docs/node-file.schema.json").read_bytes()


def test_with_the_libnmstate_of_the_distribution_check_works(workstation: Path, tmp_path: Path) -> None:
    """As `pipx install --system-site-packages` makes it visible."""
    library = next((workstation.parent / "lib").glob("python3.*/site-packages"))
    for package in Path(sysconfig.get_path("purelib")).glob("libnmstate*"):
        (library / package.name).symlink_to(package)
    file = tmp_path / "worker-0.yml"
    file.write_text(NODE)
    assert nodenetctl(workstation, "check", file)[0] == 0
    file.write_text(NODE.replace("dhcp:", "dhpc:"))
    code, text = nodenetctl(workstation, "check", file)
    assert code == 65
    assert "worker-0.yml, line 5, column 25: interfaces[0].ipv4.dhpc" in text


def test_the_hook_of_pre_commit_runs_a_verb_that_is_there() -> None:
    (hook,) = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    program, verb = hook["entry"].split()
    assert (program, hook["language"]) == ("nodenetctl", "system")
    assert verb in VERBS
