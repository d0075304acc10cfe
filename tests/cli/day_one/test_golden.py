"""Golden files: what is made of the documents, and of the seed's folder, is the same bytes for ever.

`NODENET_WRITE_GOLDEN=1` writes them again; look at the difference before it is committed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nodenet.cli.main import main
from nodenet.core.day_one import reading
from nodenet.core.day_one.document import early, read, render

HERE = Path(__file__).parents[3] / "fixtures" / "day_one"
DOCUMENTS = sorted((HERE / "documents").glob("*.yml"))
SEED = HERE / "seed"
TYPES = {
    *("ethernet", "bond", "vlan", "linux-bridge", "dummy", "veth", "vrf", "vxlan", "mac-vlan", "mac-vtap"),
    *("infiniband", "macsec", "loopback"),
}
"""Every type that libnmstate generates keyfiles for which NetworkManager reads, and that needs no Open vSwitch."""


def compare(made: str, golden: Path) -> None:
    if os.environ.get("NODENET_WRITE_GOLDEN") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(made)
    assert made == golden.read_text()


def run(*words: object) -> None:
    assert main(["day-one", *map(str, words)]) == 0


def test_there_are_enough_and_of_every_type() -> None:
    assert len(DOCUMENTS) >= 40
    found = {link["type"] for path in DOCUMENTS for link in read(path.read_text())["interfaces"]}
    assert found == TYPES


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_the_keyfiles_of_a_document(path: Path, tmp_path: Path) -> None:
    run("keyfiles", path, "--out", tmp_path)
    made = sorted(tmp_path.iterdir())
    assert made
    compare("".join(f"==> {each.name}\n{each.read_text()}" for each in made), HERE / "keyfiles" / f"{path.stem}.txt")
    run("keyfiles", path, "--out", tmp_path)
    assert {each.stat().st_mode & 0o777 for each in made} == {0o600}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_artefact_of_a_document_is_stable_and_read_back(path: Path, tmp_path: Path) -> None:
    """MachineConfig, Ignition, Secret and install-config: two runs, the same bytes; and back to the document."""
    nodes, first, second, back = (tmp_path / name for name in ("nodes", "first", "second", "back"))
    for each in (nodes, first, second):
        each.mkdir()
    shutil.copy(path, nodes / "host-0.yml")
    config = tmp_path / "install-config.yaml"
    config.write_text("platform:\n  baremetal:\n    hosts:\n    - name: host-0 # first\n      bootMACAddress: x\n")
    verbs = {
        "machine-config": ("machine-config", nodes, "--role", "worker"),
        "ignition": ("ignition", nodes),
        "secret": ("secret", nodes / "host-0.yml", "--host", "host-0"),
        "install-config": ("install-config", config, "--node-files", nodes),
    }
    for name, words in verbs.items():
        for out in (first, second):
            run(*words, "--out", out / name)
        assert (first / name).read_bytes() == (second / name).read_bytes()
        back.mkdir()
        what = (first / name, "--extract") if name == "install-config" else ("--extract", first / name)
        run(name, *what, "--out", back)
        (found,) = [each for each in back.rglob("*") if each.is_file()]
        assert found.read_bytes() == path.read_bytes()
        shutil.rmtree(back)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_the_first_step_of_a_document_without_open_vswitch_is_itself(path: Path) -> None:
    document = read(path.read_text())
    derived = early(document)
    assert reading.read("it", render(derived)) == derived
    assert {key: derived[key] for key in document} == document


def test_the_artefacts_of_the_seed(tmp_path: Path) -> None:
    golden = HERE / "golden"
    steps = tmp_path / "first"
    steps.mkdir()
    run("early", SEED / "br-ex", "--out", steps)
    compare((steps / "master-0.yml").read_text(), golden / "early-master-0.yml")
    words = ("--hint", "192.168.111.0", "--settings", SEED / "install-config.yaml")
    for name, verb in {
        "machine-config.yaml": ("machine-config", SEED / "br-ex", "--role", "master", *words),
        "config.ign": ("ignition", SEED / "br-ex"),
        "secret.yaml": ("secret", SEED / "ostest-master-0.yml", "--host", "ostest-master-0"),
        "install-config.yaml": ("install-config", SEED / "install-config.yaml", "--node-files", SEED),
    }.items():
        run(*verb, "--out", tmp_path / name)
        compare((tmp_path / name).read_text(), golden / name)
