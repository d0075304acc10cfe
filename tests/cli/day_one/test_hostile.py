"""Input and surroundings that are against day one: clear errors, nothing half written, no secret shown."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.test_main import environment
from nodenet.cli.main import main
from unprivileged import unprivileged

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"
SECRET = "hunter2-CorrectHorse"  # noqa: S105 - that is the point


def found(folder: Path, capsys: pytest.CaptureFixture[str], *words: object) -> list[tuple[str, str]]:
    """Return rule and file name of each finding."""
    main(["day-one", "check", str(folder), *map(str, words), "--json"])
    return [(each["rule"], Path(each["file"]).name) for each in json.loads(capsys.readouterr().out)["findings"]]


def test_a_folder_that_changes_while_it_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each write is whole: the findings of the content are those of some state, and of no state together."""
    over = threading.Event()

    def write() -> None:
        content = (folder / "ostest-master-0.yml").read_text()
        number = 0
        while not over.wait(0.001):
            number += 1
            (folder / ".new").write_text(f"{content}# {number}\n")
            (folder / ".new").replace(folder / "ostest-master-0.yml")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert found(folder, capsys) == [("changed-while-read", "ostest-master-0.yml")]
        code = main(["day-one", "machine-config", str(folder), "--role", "master"])
    finally:
        over.set()
        thread.join()
    said = capsys.readouterr()
    # Reading two files takes less than a millisecond: the second verb may have been between two writes.
    assert code == 0 or said.err.endswith(f"changed while {folder} was read. Run the command again\n")


def test_files_of_fifty_megabytes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = tmp_path / "install-config.yaml"
    for path in (folder / "big.yml", large):
        with path.open("wb") as file:
            file.truncate(50 << 20)
    began = time.monotonic()
    rules = found(folder, capsys, "--install-config", large)
    assert rules == [("too-large", "install-config.yaml"), ("too-large", "big.yml")]
    assert time.monotonic() - began < 20
    assert main(["day-one", "install-config", str(large), "--node-files", str(SEED)]) == 65
    assert "has more than 33554432 bytes" in capsys.readouterr().err


def test_what_is_no_file_is_not_waited_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "fifo.yml")
    (folder / "folder.yml").mkdir()
    (folder / "loop.yml").symlink_to("loop.yml")
    (folder / "zero.yml").symlink_to("/dev/zero")
    names = ("fifo.yml", "folder.yml", "loop.yml", "zero.yml")
    assert [each for each in found(folder, capsys) if each[0] == "unreadable"] == [
        ("unreadable", name) for name in names
    ]


@pytest.fixture
def public(folder: Path) -> Iterator[Path]:
    """A folder of node files that every user may read, and only its owner may write."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        shutil.copytree(folder, Path(made) / "nodes")
        yield Path(made) / "nodes"


def test_a_file_that_may_not_be_read(public: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is made of the files that could be read."""
    closed = public / "closed.yml"
    closed.write_text("interfaces: []\n")
    closed.chmod(0)
    with unprivileged():
        code = main(["day-one", "ignition", str(public)])
    said = capsys.readouterr()
    assert (code, said.out, said.err) == (64, "", f"nodenetctl: {closed} cannot be read: Permission denied\n")


def test_keys_that_install_config_has_twice(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "install-config.yaml"
    path.write_text((SEED / "install-config.yaml").read_text() + "metadata:\n  name: other\n")
    assert ("key-twice", "install-config.yaml") in found(folder, capsys, "--install-config", path)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_secrets_are_not_shown(form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a document is broken around them."""
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    good = (
        "interfaces:\n- name: enp2s0\n  type: ethernet\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n"
        f"  802.1x:\n    identity: a\n    eap-methods: [peap]\n    password: {SECRET}\n"
        f"- name: ms0\n  type: macsec\n  state: up\n  macsec:\n    base-iface: enp2s0\n    mka-cak: {SECRET}\n"
    )
    lines = good.splitlines(keepends=True)
    for number in range(len(lines)):
        without = [*lines[:number], *lines[number + 1 :]]
        twice = [*lines[: number + 1], *lines[number:]]
        deeper = [*lines[:number], f"   {lines[number]}", *lines[number + 1 :]]
        quote = [*lines[:number], lines[number].replace(": ", ': "', 1), *lines[number + 1 :]]
        for kind, text in (("w", without), ("t", twice), ("d", deeper), ("q", quote)):
            (nodes / f"host-{kind}{number}.yml").write_text("".join(text))
    config = tmp_path / "install-config.yaml"
    config.write_text(
        f"platform:\n  baremetal:\n    hosts:\n    - {{name: a, bmc: {{password: {SECRET}}}, bootMACAddress: x}}\n"
        f"    - name: b\n      bmc:\n        password: {SECRET}\n        password: {SECRET}\n      bootMACAddress: x\n"
        f"pullSecret: '{SECRET}'\npullSecret: '{SECRET}'\n"
    )
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text(
        f"kind: Secret\nmetadata: {{name: b-network-config-secret}}\nstringData:\n  nmstate: |\n    x: {SECRET}\n"
        "---\nkind: BareMetalHost\nmetadata: {name: b}\n"
        "spec: {preprovisioningNetworkDataName: b-network-config-secret}\n"
    )
    words = ("--install-config", str(config), "--hosts", str(hosts), *form)
    assert main(["day-one", "check", str(nodes), *words]) == 65
    said = capsys.readouterr()
    assert len(said.out + said.err) > 1000
    assert SECRET not in said.out + said.err
    for path in nodes.iterdir():
        main(["day-one", "keyfiles", str(path), "--out", str(tmp_path)])
    assert SECRET not in capsys.readouterr().err


def test_a_folder_that_may_not_be_written(public: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = public / "mc.yaml"
    with unprivileged():
        code = main(["day-one", "machine-config", str(public), "--role", "master", "--out", str(out)])
    cause = f"nodenetctl: {out} cannot be written: Permission denied. Name a place with --out that you may write to\n"
    assert (code, capsys.readouterr().err) == (74, cause)
    assert not out.exists()


def run_limited(*words: object, most_bytes: int) -> subprocess.CompletedProcess[str]:
    """Run a verb where no file can grow beyond *most_bytes*, as on a disk that is full then (setrlimit(2))."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    argv = [sys.executable, "-m", "nodenet.cli.main", "day-one", *map(str, words)]
    return subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False, preexec_fn=limit)


STATIC = """    address:
    - ip: "192.168.111.110"
      prefix-length: 24
"""


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    nodes, out = tmp_path / "nodes", tmp_path / "out"
    nodes.mkdir()
    out.mkdir()
    text = (SEED / "br-ex" / "master-0.yml").read_text()
    (nodes / "a.yml").write_text(text.replace("192.168.111.110", "192.168.111.111"))
    large = text.replace("    - 192.168.111.1\n", "".join(f"    - 10.0.{number}.53\n" for number in range(200)))
    (nodes / "b.yml").write_text(large)
    done = run_limited("early", nodes, "--out", out, most_bytes=2048)
    assert (done.returncode, done.stdout) == (74, "")
    assert f"{out / 'b.yml'} cannot be written: File too large" in done.stderr
    assert list(out.iterdir()) == []


def test_a_verb_that_is_killed_leaves_whole_files(tmp_path: Path) -> None:
    nodes, out = tmp_path / "nodes", tmp_path / "out"
    nodes.mkdir()
    out.mkdir()
    text = (SEED / "br-ex" / "master-0.yml").read_text().replace(STATIC, "    dhcp: true\n")
    for number in range(400):
        (nodes / f"host-{number}.yml").write_text(text)
    argv = [sys.executable, "-m", "nodenet.cli.main", "day-one", "early", str(nodes), "--out", str(out)]
    with subprocess.Popen(argv, env=environment(), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not any(path.suffix == ".yml" for path in out.iterdir()):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    (tmp_path / "one.yml").write_text(text)
    (tmp_path / "expected").mkdir()
    assert main(["day-one", "early", str(tmp_path / "one.yml"), "--out", str(tmp_path / "expected")]) == 0
    expected = (tmp_path / "expected" / "one.yml").read_bytes()
    made = [path for path in out.iterdir() if path.suffix == ".yml"]
    assert made
    assert {path.read_bytes() for path in made} == {expected}
    assert main(["day-one", "early", str(nodes), "--out", str(out)]) == 0
    assert len(list(out.iterdir())) == 400, "what the killed one left behind is gone"


def test_a_link_is_replaced_and_not_followed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, out = tmp_path / "precious", tmp_path / "mc.yaml"
    target.write_text("mine\n")
    out.symlink_to(target)
    words = ["day-one", "machine-config", str(folder), "--role", "master", "--out", str(out)]
    assert main(words) == 64
    assert main([*words, "--force"]) == 0
    assert target.read_text() == "mine\n"
    assert not out.is_symlink()
    assert "already with other content" in capsys.readouterr().err


def test_a_file_of_other_objects_is_the_wrong_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = SEED / "install-config.yaml"
    for option in ("--hosts", "--machine-config"):
        assert ("hosts-shape", "install-config.yaml") in found(folder, capsys, option, other)


def test_a_list_of_objects_is_unfolded(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text("kind: List\nitems:\n- kind: BareMetalHost\n  metadata: {name: ostest-master-0}\n  spec: {}\n")
    assert found(folder, capsys, "--hosts", path) == [
        ("boot-mac", "hosts.yaml"),
        ("file-without-host", "ostest-master-1.yml"),
    ]


def test_a_document_that_is_wrong_is_not_derived(folder: Path, tmp_path: Path) -> None:
    (folder / "odd.yml").write_text("interfaces:\n- 3\n- name: [a]\n")
    (tmp_path / "out").mkdir()
    assert main(["day-one", "early", str(folder), "--out", str(tmp_path / "out")]) == 65
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_shell_pipes_in_is_read(folder: Path) -> None:
    config = f"<(cat {SEED / 'install-config.yaml'})"
    script = f"{sys.executable} -m nodenet.cli.main day-one check {folder} --install-config {config} --strict"
    done = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "2 files checked: nothing found\n")


def test_names_control_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of hosts and links come from other hosts, and are printed with results and remarks."""
    config, state, out = tmp_path / "config.yaml", tmp_path / "state.json", tmp_path / "out"
    out.mkdir()
    link = {"name": "e0\x1b[2J", "type": "x\nroutes: []\x1b[2J", "state": "up"}
    state.write_text(json.dumps({"hostname": {"running": "h\x1b[2J\nroutes: []"}, "interfaces": [link]}))
    hosts = '- name: "a\\e[2J"\n      networkConfig: {interfaces: []}\n    - name: "b\\e[2J"'
    config.write_text(f"platform:\n  baremetal:\n    hosts:\n    {hosts}\n")
    main(["day-one", "from-host", str(state)])
    main(["day-one", "install-config", str(config), "--extract", "--out", str(out)])
    main(["day-one", "install-config", str(config), "--node-files", str(SEED)])
    said = capsys.readouterr()
    assert "b?[2J" in said.err
    assert "\x1b" not in said.err + said.out.split("platform:")[0]
    assert not any(line.startswith("routes") for line in (said.out + said.err).splitlines())


def test_what_is_made_from_node_files_is_private(folder: Path, tmp_path: Path) -> None:
    """They may have the passwords of 802.1X, and so may each artefact and each file that is read back from one."""
    out, config = tmp_path / "out", tmp_path / "config.yaml"
    out.mkdir()
    config.write_text(
        "platform:\n  baremetal:\n    hosts:\n    - name: a\n      networkConfig:\n        interfaces: []\n"
    )
    for words in (
        ["install-config", str(config), "--extract", "--out", str(out)],
        ["early", str(SEED / "br-ex"), "--out", str(out)],
        ["machine-config", str(folder), "--role", "master", "--out", str(out / "mc.yaml")],
        ["ignition", str(folder), "--out", str(out / "made.ign")],
        ["machine-config", "--extract", str(out / "mc.yaml"), "--out", str(out), "--force"],
        ["ignition", "--extract", str(out / "made.ign"), "--out", str(out), "--force"],
    ):
        assert main(["day-one", *words]) == 0, words
    modes = {path.name: path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()}
    assert {"a.yml", "mc.yaml", "made.ign", "ostest-master-0.yml"} <= set(modes)
    assert set(modes.values()) == {0o600}
