"""`nodenetctl day-one`: every artefact from a folder of node files, and back; nothing is overwritten unasked."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from cli.test_main import nodenetctl

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


def day_one(*words: object) -> subprocess.CompletedProcess[str]:
    return nodenetctl("day-one", *map(str, words))


def test_a_machine_config_is_extracted_to_the_same_files(folder: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "mc.yaml", tmp_path / "back"
    back.mkdir()
    assert day_one("machine-config", folder, "--role", "master", "--out", out).returncode == 0
    first = out.read_bytes()
    assert day_one("machine-config", folder, "--role", "master", "--out", out).returncode == 0
    assert out.read_bytes() == first
    assert day_one("machine-config", "--extract", out, "--out", back).returncode == 0
    assert {p.name: p.read_bytes() for p in back.iterdir()} == {p.name: p.read_bytes() for p in folder.iterdir()}


def test_ignition_carries_the_node_files(folder: Path) -> None:
    found = json.loads(day_one("ignition", folder).stdout)
    paths = [file["path"] for file in found["storage"]["files"]]
    assert paths == [f"/etc/nmstate/openshift/{path.name}" for path in sorted(folder.iterdir())]


def test_a_secret_and_its_host(folder: Path) -> None:
    path = folder / "ostest-master-0.yml"
    done = day_one("secret", path, "--host", "worker-2")
    secret, host = YAML(typ="safe", pure=True).load_all(done.stdout)
    assert base64.b64decode(secret["data"]["nmstate"]) == path.read_bytes()
    assert host["spec"]["preprovisioningNetworkDataName"] == secret["metadata"]["name"]


def test_install_config_is_filled_and_what_lacks_a_file_is_named(folder: Path) -> None:
    (folder / "ostest-master-1.yml").rename(folder / "rack-7.yml")
    command = ("install-config", SEED / "install-config.yaml", "--node-files", folder)
    done = day_one(*command)
    assert done.returncode == 0
    assert done.stderr == (
        f"nodenetctl: no node file for host ostest-master-1: it keeps what {SEED / 'install-config.yaml'} says\n"
    )
    mapped = day_one(*command, "--map", "ostest-master-1=rack-7.yml")
    assert (mapped.returncode, mapped.stderr) == (0, "")
    hosts = YAML(typ="safe", pure=True).load(mapped.stdout)["platform"]["baremetal"]["hosts"]
    assert all("networkConfig" in host for host in hosts)


def test_the_table_marks_an_address_that_two_files_have(folder: Path) -> None:
    assert day_one("show", folder).stdout.splitlines() == [
        "FILE                 HOST             LINKS   ADDRESSES           GATEWAYS       DNS",
        "ostest-master-0.yml  ostest-master-0  enp2s0  192.168.111.110/24  192.168.111.1  192.168.111.1",
        "ostest-master-1.yml  ostest-master-1  enp2s0  192.168.111.111/24  192.168.111.1  192.168.111.1",
    ]
    shutil.copy(folder / "ostest-master-0.yml", folder / "twin.yml")
    done = day_one("show", folder)
    assert (done.returncode, done.stdout.count("192.168.111.110/24*")) == (1, 2)
    listed = json.loads(day_one("show", folder, "--json").stdout)["files"]
    assert [entry["duplicates"] for entry in listed] == [["192.168.111.110"], [], ["192.168.111.110"]]


def test_the_first_step_is_derived_and_nothing_is_written_when_one_file_is_refused(tmp_path: Path) -> None:
    nodes, out = tmp_path / "nodes", tmp_path / "out"
    nodes.mkdir()
    out.mkdir()
    shutil.copy(SEED / "br-ex" / "master-0.yml", nodes)
    (nodes / "z.yml").write_text("- no mapping\n")
    assert day_one("early", nodes, "--out", out).returncode == 65
    assert list(out.iterdir()) == []
    (nodes / "z.yml").unlink()
    assert day_one("early", nodes, "--out", out).stdout == f"{out / 'master-0.yml'}\n"
    assert "ovs-" not in (out / "master-0.yml").read_text()


def test_keyfiles_are_generated_with_their_mode_and_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    command = ("keyfiles", folder / "ostest-master-0.yml", "--out", out)
    done = day_one(*command)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out / 'enp2s0.nmconnection'}\n", "")
    made = out / "enp2s0.nmconnection"
    assert made.stat().st_mode & 0o777 == 0o600
    text = made.read_text()
    assert "address0=192.168.111.110/24\n" in text
    assert day_one(*command).returncode == 0
    assert made.read_text() == text


def test_what_libnmstate_assumes_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "bond.yml"
    path.write_text(
        "interfaces:\n- name: bond0\n  type: bond\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n"
        "  link-aggregation: {mode: active-backup, port: [enp1s0]}\n"
    )
    done = day_one("keyfiles", path, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "nodenetctl: warning: Assuming undefined port enp1s0 as ethernet\n")
    assert sorted(p.name for p in tmp_path.glob("*.nmconnection")) == ["bond0.nmconnection", "enp1s0.nmconnection"]


def test_a_document_with_open_vswitch_names_the_first_step(tmp_path: Path) -> None:
    done = day_one("keyfiles", SEED / "br-ex" / "master-0.yml", "--out", tmp_path)
    assert done.returncode == 65
    assert done.stderr.count("= Derive the document of the first step with `nodenetctl day-one early`\n") == 2
    assert list(tmp_path.iterdir()) == []


def test_other_content_is_overwritten_only_with_force(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "mc.yaml"
    out.write_text("mine\n")
    command = ("machine-config", folder, "--role", "worker", "--out", out)
    done = day_one(*command)
    assert (done.returncode, out.read_text()) == (64, "mine\n")
    assert done.stderr == f"nodenetctl: {out} is there already with other content. Use --force to overwrite it\n"
    assert day_one(*command, "--force").returncode == 0
    assert "kind: MachineConfig" in out.read_text()


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (
            ("machine-config", "{dir}"),
            64,
            (
                "--role and at least one of DIR, --hint and --settings are needed. "
                "Or read a MachineConfig with --extract FILE --out DIR"
            ),
        ),
        (
            ("machine-config", "{dir}", "--role", "A"),
            64,
            "--role 'A' is not a Kubernetes name. Use a-z, 0-9, '-' and '.'",
        ),
        (("machine-config", "--extract", "{file}"), 64, "--extract needs --out with a folder that exists"),
        (
            ("machine-config", "--extract", "{file}", "--out", "{dir}"),
            65,
            "{file}: $.kind is None; expected MachineConfig. Correct it and run the command again",
        ),
        (("ignition", "{dir}/none"), 64, "{dir}/none does not exist"),
        (("ignition", "{empty}"), 64, "{empty} has no node file. Node files end in .yml or .yaml"),
        (
            ("secret", "{file}", "--host", "A_b"),
            65,
            (
                "--host: 'A_b' is not a valid name of a BareMetalHost: lower-case letters, digits, '-' and '.' only, "
                "at most 231 characters. Correct it and run the command again"
            ),
        ),
        (
            ("install-config", "{file}", "--node-files", "{dir}"),
            65,
            (
                "{file}: install-config has no platform.baremetal.hosts: it is not one of a bare-metal cluster. "
                "Correct it and run the command again"
            ),
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy(
    folder: Path, tmp_path: Path, words: tuple[str, ...], code: int, problem: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    places = {"dir": folder, "file": folder / "ostest-master-0.yml", "empty": empty}
    done = day_one(*(word.format(**places) for word in words))
    assert (done.returncode, done.stderr) == (code, f"nodenetctl: {problem.format(**places)}\n")
    assert done.stdout == ""


def test_the_table_of_one_host_says_why_it_gets_its_file(folder: Path) -> None:
    (folder / "cluster.yml").write_text("interfaces: []\n")
    done = day_one("show", folder, "ostest-master-0.example.com")
    assert done.stderr == (
        "ostest-master-0.example.com gets ostest-master-0.yml; there is no ostest-master-0.example.com.yml, "
        "ostest-master-0.example.com.yaml; it replaces cluster.yml\n"
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["FILE", "ostest-master-0.yml"]
    (folder / "cluster.yml").unlink()
    lost = day_one("show", folder, "worker-9")
    assert (lost.returncode, lost.stderr) == (
        65,
        (
            "nodenetctl: worker-9 gets no node file: there is none of worker-9.yml, worker-9.yaml, cluster.yml, "
            "cluster.yaml. Add worker-9.yml\n"
        ),
    )
