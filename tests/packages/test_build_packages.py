"""Does `make packages` list what it built, and sign the list when a key is given and not otherwise?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import build_packages

BUILD = [sys.executable, str(Path(build_packages.__file__))]
SIGN = "import pathlib, sys, build_packages as b; b.sign([pathlib.Path(sys.argv[1])], pathlib.Path(sys.argv[2]))"
KEY = "packages@example.com"


@pytest.fixture
def keyring(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment with a keyring that has one secret key."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    environment = os.environ | {"GNUPGHOME": str(home)}
    make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", KEY, "ed25519", "sign", "never"]
    subprocess.run(make, check=True, env=environment)
    yield environment
    subprocess.run(["gpgconf", "--kill", "all"], check=True, env=environment)


def sign(package: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """List and sign a package with this environment."""
    command = [sys.executable, "-c", SIGN, str(package), str(package.parent)]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment | paths)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a directory with the signature of an earlier one."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "SHA256SUMS.asc").write_text("of an earlier build")
    file = out / "nodenet.deb"
    file.write_bytes(b"package")
    return file


def test_nothing_is_signed_without_a_key(package: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NODENET_SIGNING_KEY"}
    assert sign(package, environment).returncode == 0
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=package.parent, check=True)
    assert not (package.parent / "SHA256SUMS.asc").exists()


@pytest.mark.skipif(not (shutil.which("gpg") and shutil.which("gpg-agent")), reason="gpg is not installed")
def test_the_list_is_signed_with_the_key(package: Path, keyring: dict[str, str]) -> None:
    done = sign(package, keyring | {"NODENET_SIGNING_KEY": KEY})
    assert done.returncode == 0, done.stderr
    verify = ["gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS"]
    subprocess.run(verify, cwd=package.parent, check=True, capture_output=True, env=keyring)
    (package.parent / "SHA256SUMS").write_text("changed")
    assert subprocess.run(verify, cwd=package.parent, check=False, capture_output=True, env=keyring).returncode == 1
    done = sign(package, keyring | {"NODENET_SIGNING_KEY": "nobody@example.com"})
    assert "NODENET_SIGNING_KEY must name a secret key in gpg's keyring" in done.stderr


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([*BUILD, "snap", "--out", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown form snap: the forms are deb, rpm, sysext" in done.stderr
