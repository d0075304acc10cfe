"""Every artefact is read back to the files that it was made of, byte for byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from nodenet.cli.main import main
from nodenet.core.settings.parse import parse

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"
INSTALL_CONFIG = SEED / "install-config.yaml"
BMH = """# the new worker
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: worker-2   # as in the rack
spec:
  online: true
  bootMACAddress: "52:54:00:00:00:03"
"""


@pytest.fixture
def back(tmp_path: Path) -> Path:
    """Return an empty folder."""
    made = tmp_path / "back"
    made.mkdir()
    return made


def run(*words: object) -> int:
    return main(["day-one", *map(str, words)])


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_ignition_with_node_files_and_keyfiles(folder: Path, back: Path, tmp_path: Path) -> None:
    keys, out = tmp_path / "keys", tmp_path / "x.ign"
    keys.mkdir()
    assert run("keyfiles", folder / "ostest-master-0.yml", "--out", keys) == 0
    shutil.copy(folder / "ostest-master-0.yml", keys)
    assert run("ignition", keys, "--out", out) == 0
    modes = {file["path"]: file["mode"] for file in json.loads(out.read_text())["storage"]["files"]}
    assert modes == {
        "/etc/NetworkManager/system-connections/enp2s0.nmconnection": 384,
        "/etc/nmstate/openshift/ostest-master-0.yml": 420,
    }
    assert run("ignition", "--extract", out, "--out", back) == 0
    assert {Path(name).name: content for name, content in contents(back).items()} == contents(keys)


def test_a_secret_and_the_whole_manifest_of_its_host(folder: Path, back: Path, tmp_path: Path) -> None:
    bmh, out = tmp_path / "bmh.yaml", tmp_path / "out.yaml"
    bmh.write_text(BMH)
    node_file = folder / "ostest-master-0.yml"
    assert run("secret", node_file, "--host", "worker-2", "--bmh", bmh, "--out", out) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    line = "  preprovisioningNetworkDataName: worker-2-network-config-secret\n"
    assert out.read_text().endswith("---\n" + BMH.replace("spec:\n", f"spec:\n{line}"))
    assert run("secret", "--extract", out, "--out", back) == 0
    assert contents(back) == {"worker-2.yml": node_file.read_bytes()}
    shutil.copy(node_file, folder / "worker-2.yml")
    (folder / "ostest-master-0.yml").unlink()
    (folder / "ostest-master-1.yml").unlink()
    assert run("check", folder, "--hosts", out, "--strict") == 0


def test_install_config(folder: Path, back: Path, tmp_path: Path) -> None:
    out = tmp_path / "install-config.yaml"
    assert run("install-config", INSTALL_CONFIG, "--node-files", folder, "--out", out) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert run("install-config", out, "--extract", "--out", back) == 0
    assert contents(back) == contents(folder)
    assert run("check", folder, "--install-config", out, "--strict") == 0


def test_settings_and_a_hint_in_a_machine_config(back: Path, tmp_path: Path) -> None:
    out = tmp_path / "mc.yaml"
    words = ("--hint", "192.168.111.0", "--settings", INSTALL_CONFIG, "--out", out)
    assert run("machine-config", "--role", "master", *words) == 0
    assert run("machine-config", "--extract", out, "--out", back) == 0
    made = contents(back)
    assert made["etc/default/nodeip-configuration"] == b"KUBELET_NODEIP_HINT=192.168.111.0\n"
    settings = parse([("20-cluster.toml", made["etc/nodenet/nodenet.toml.d/20-cluster.toml"])]).settings
    assert (settings.platform, settings.network_type, settings.cluster_domain) == (
        "baremetal",
        "OVNKubernetes",
        "ostest.test.metalkube.org",
    )
    assert ([str(vip) for vip in settings.api_vips], settings.user_managed_lb) == (["192.168.111.5"], False)
    found = YAML(typ="safe", pure=True).load(out.read_text())
    assert found["metadata"]["name"] == "10-nodenet-master"


@pytest.mark.parametrize(
    "verb", [("secret", "{file}", "--host", "w"), ("install-config", "{ic}", "--node-files", "{dir}")]
)
def test_a_document_with_open_vswitch_becomes_no_artefact_of_the_first_step(
    verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    file = nodes / "ostest-master-0.yml"
    shutil.copy(SEED / "br-ex" / "master-0.yml", file)
    places = {"file": file, "ic": INSTALL_CONFIG, "dir": nodes}
    assert run(*(word.format(**places) for word in verb)) == 65
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith(
        "nodenetctl: 1 node file has errors: nothing was written. Correct them; `day-one check` has all rules\n"
    )


def test_an_extracted_path_does_not_leave_the_folder(
    back: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, elsewhere = tmp_path / "mc.yaml", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (back / "etc").symlink_to(elsewhere)
    assert run("machine-config", "--role", "master", "--hint", "192.0.2.5", "--out", out) == 0
    assert run("machine-config", "--extract", out, "--out", back) == 64
    assert capsys.readouterr().err.endswith(f"leads out of {back}. Remove the symbolic link\n")
    assert contents(elsewhere) == {}


def test_what_was_made_is_removed_when_one_file_cannot_be_written(tmp_path: Path) -> None:
    """A folder in the place of the second file."""
    keys, nodes = tmp_path / "keys", tmp_path / "bond.yml"
    keys.mkdir()
    (keys / "enp1s0.nmconnection").mkdir()
    nodes.write_text(
        "interfaces:\n- name: bond0\n  type: bond\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n"
        "  link-aggregation: {mode: active-backup, port: [enp1s0]}\n- {name: enp1s0, type: ethernet, state: up}\n"
    )
    assert run("keyfiles", nodes, "--out", keys) == 64
    assert sorted(path.name for path in keys.iterdir()) == ["enp1s0.nmconnection"]
