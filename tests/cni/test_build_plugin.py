"""How the plugin is built where this machine's Rust is missing or cannot link statically."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "packaging/cni/build_plugin.py"
RUSTC = """#!/bin/sh
echo "$@" >/build/called
echo program >/build/cni/nodenet-ipam
"""


def root_with_a_shell(root: Path) -> None:
    """Make a root file system in which /bin/sh runs."""
    libraries = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    for found in ["/bin/sh", *re.findall(r"(/\S+) \(0x", libraries)]:
        copy = root / found.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, copy)
    for name in ("build", "proc", "dev", "usr/bin"):
        (root / name).mkdir(parents=True, exist_ok=True)


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("rust", [None, "#!/bin/sh\nexit 1\n"], ids=["none", "without a linker"])
def test_it_is_built_in_a_root_file_system_then(tmp_path: Path, rust: str | None) -> None:
    """With the same options and sources. The compiler inside is played."""
    programs, root = tmp_path / "bin", tmp_path / "nodenet/build-root-forky"
    programs.mkdir()
    root_with_a_shell(root)
    script(root / "usr/bin/rustc", RUSTC)
    if rust is not None:
        script(programs / "rustc", rust)
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, BUILD], capture_output=True, text=True, env=environment, check=False)
    if os.geteuid() != 0:
        assert "building in a root file system needs root" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_text() == "program\n"
    called = (root / "build/called").read_text()
    assert called.startswith("--edition=2021 -O -Ctarget-feature=+crt-static ")
    assert called.endswith(" -o /build/cni/nodenet-ipam /build/cni/main.rs\n")
    inside = {path.name for path in (root / "build/cni").glob("*.rs")}
    assert inside == {path.name for path in (BUILD.parent / "src").glob("*.rs")}
