"""`nodenetctl check`: what nodenetd would say of node files, on any machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_main import environment, nodenetctl
from nodenet.cli.main import main
from unprivileged import unprivileged

pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")

GOOD = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n"


def test_good_files_are_named_with_their_digest(tmp_path: Path) -> None:
    """One line each; exit 0; what is no node file is passed over."""
    (tmp_path / "cluster.yml").write_text(GOOD)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "worker-0.yaml").write_text("# later\n")
    (tmp_path / "notes.txt").write_text("[")
    done = nodenetctl("check", str(tmp_path), str(tmp_path / "empty"))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("cluster.yml: good (")
    assert done.stdout.splitlines()[1] == "worker-0.yaml: empty: nothing to apply"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace("type:", "tpye:").encode(), "tpye"),
        (b"interfaces: [\n", "bad.yml, line 2"),
        (
            GOOD.replace("ethernet", "ethernetz").encode(),
            "bad.yml, line 3, column 9: interfaces[0].type: libnmstate knows no type",
        ),
        (GOOD.encode() + b"  name: eth1\n", "found duplicate key"),
        (b"\xff", "bad.yml, line 1: not UTF-8"),
    ],
)
def test_a_bad_file_is_65_with_file_place_and_remedy(tmp_path: Path, content: bytes, said: str) -> None:
    """The good ones beside it are checked all the same."""
    (tmp_path / "bad.yml").write_bytes(content)
    (tmp_path / "good.yml").write_text(GOOD)
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert "bad.yml" in done.stderr
    assert said in done.stderr
    assert "good.yml: good" in done.stdout


def test_two_files_for_one_node_are_a_problem(tmp_path: Path) -> None:
    """Both extensions of one stem."""
    for name in ("worker-0.yml", "worker-0.yaml"):
        (tmp_path / name).write_text(GOOD)
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert "both claim to be the node file for 'worker-0'" in done.stderr


def test_modes_are_warnings_outside_the_nodes_own_directory(tmp_path: Path) -> None:
    """A checkout has 0664 or 0666, and a developer wants to know about the content (R52)."""
    path = tmp_path / "cluster.yml"
    path.write_text(GOOD.replace("up", "upp") + "  mtuu: 1\n")
    path.chmod(0o666)
    done = nodenetctl("check", str(path))
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr.splitlines() == [
        f"cluster.yml: warning: {path} is writable by others than root. Run: chmod go-w {path}",
        "cluster.yml, line 4, column 10: interfaces[0].state = upp: not a value that NMState knows. Did you mean `up`?",
        "cluster.yml, line 5, column 3: interfaces[0].mtuu: NMState has no such key here. Did you mean `mtu`?",
    ]
    path.write_text(GOOD)
    assert nodenetctl("check", str(path)).returncode == 0


@pytest.mark.parametrize("name", ["absent", "."])
def test_nothing_to_check_is_a_wrong_command_line(tmp_path: Path, name: str) -> None:
    """Neither a missing path nor an empty directory passes for good."""
    assert nodenetctl("check", str(tmp_path / name)).returncode == 64


def test_a_program_gets_an_entry_for_each_file(tmp_path: Path) -> None:
    """Twins too, of which a person reads once; what an editor hides is no node file."""
    for name, content in {"a.yml": GOOD, "b.yml": "# later\n", "c.yaml": "x: [", "d.yml": GOOD, "d.yaml": GOOD}.items():
        (tmp_path / name).write_text(content)
    (tmp_path / ".a.yml").write_text("[")
    done = nodenetctl("check", "--json", str(tmp_path))
    assert (done.returncode, done.stderr) == (65, "")
    document = json.loads(done.stdout)
    assert document["schema_version"] == 1
    entries = {Path(entry["file"]).name: entry for entry in document["files"]}
    assert {name: entry["ok"] for name, entry in entries.items()} == {
        "a.yml": True,
        "b.yml": True,
        "c.yaml": False,
        "d.yaml": False,
        "d.yml": False,
    }
    good = entries["a.yml"]
    assert (good["file"], len(good["digest"]), good["cause"], good["remedy"]) == (f"{tmp_path}/a.yml", 64, None, None)
    assert entries["b.yml"]["digest"] is None
    assert entries["c.yaml"]["cause"].startswith("c.yaml, line 1")
    assert entries["d.yml"]["cause"] == entries["d.yaml"]["cause"]
    assert all(entry["remedy"] for entry in entries.values() if not entry["ok"])


def test_a_missing_libnmstate_says_nothing_of_the_file(tmp_path: Path) -> None:
    """It is not there to be asked: 69, not 65."""
    (tmp_path / "libnmstate.py").write_text("raise ModuleNotFoundError(\"No module named 'libnmstate'\")\n")
    (tmp_path / "worker-1.yml").write_text(GOOD)
    program = "import sys\nfrom nodenet.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program, "check", str(tmp_path / "worker-1.yml")],
        capture_output=True,
        text=True,
        check=False,
        env=environment() | {"PYTHONPATH": paths},
    )
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("nodenetctl: worker-1.yml cannot be checked: No module named 'libnmstate'. Install ")


@pytest.mark.parametrize("other", ["worker-1.yml", "Worker-1.yaml"])
def test_one_file_is_refused_with_its_twin_beside_it(tmp_path: Path, other: str) -> None:
    """As nodenetd would; only the file that was asked for has an entry, and a stranger's fault is not its own."""
    for name, content in {"worker-1.yaml": GOOD, other: "[", "worker-2.yml": "["}.items():
        (tmp_path / name).write_text(content)
    done = nodenetctl("check", "--json", str(tmp_path / "worker-1.yaml"))
    assert done.returncode == 65
    (entry,) = json.loads(done.stdout)["files"]
    assert "both claim to be the node file for 'worker-1'" in entry["cause"]
    (tmp_path / other).rename(tmp_path / "worker-3.yml")
    assert nodenetctl("check", str(tmp_path / "worker-1.yaml")).returncode == 0


@pytest.mark.parametrize(("path", "mode"), [("shut", 0), ("shut/worker-1.yml", 0), ("shut/worker-1.yml", 0o711)])
def test_what_is_closed_to_this_user_is_77(
    tmp_path: Path, path: str, mode: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither absent nor bad nor good: nobody could look, be it at the file or at what lies beside it."""
    shut = tmp_path / "shut"
    shut.mkdir()
    (shut / "worker-1.yml").write_text(GOOD)
    main(["check", str(shut)])  # all that it imports
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    shut.chmod(mode)
    with unprivileged():
        assert main(["check", path]) == 77
    assert capsys.readouterr() == ("", f"nodenetctl: {'shut' if mode else path}: Permission denied\n")


def test_a_standard_input_that_is_too_large_is_refused_and_not_cut_off() -> None:
    """As a file is: what was behind the limit was not looked at, and the digest was that of the first part."""
    content = GOOD + ("#" * 63 + "\n") * (1 << 14) + "nonsense: [\n"
    words = [sys.executable, "-m", "nodenet.cli.main", "check", "-"]
    done = subprocess.run(words, input=content, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stdout) == (65, "")
    assert "standard input is larger than 1024 KiB. Look whether it is a node file" in done.stderr


def test_a_shared_file_is_checked_for_each_host_of_the_table(tmp_path: Path) -> None:
    """A finding has the host; addresses of two rows are compared; a column without use is an error."""
    address = "  ipv4:\n    enabled: true\n    address:\n    - ip: $(address)\n      prefix-length: $(prefix)\n"
    (tmp_path / "cluster.yml").write_text(GOOD + address)
    rows = "host,address,prefix,rack\nworker-0,192.0.2.10,24,a\nworker-1,192.0.2.10,33,b\n"
    (tmp_path / "hosts.csv").write_text(rows)
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert (
        "cluster.yml for worker-1, line 9, column 22: interfaces[0].ipv4.address[0].prefix-length = 33" in done.stderr
    )
    assert "worker-0.yml, line 8 gives another host the same address" in done.stderr
    assert "hosts.csv, line 1, column 4: cluster.yml does not ask for rack. Remove the column, or write" in done.stderr
    (tmp_path / "hosts.csv").write_text("host,address,prefix\nworker-0,192.0.2.10,24\nworker-1,192.0.2.11,24\n")
    done = nodenetctl("check", str(tmp_path))
    assert (done.returncode, [line.partition("(")[0] for line in done.stdout.splitlines()]) == (
        0,
        ["cluster.yml for worker-0: good ", "cluster.yml for worker-1: good "],
    )


def test_a_shared_file_without_its_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster.yml").write_text(GOOD + "  mtu: $(mtu)\n")
    done = nodenetctl("check", str(tmp_path))
    assert done.returncode == 65
    assert "hosts.csv cannot be read" in done.stderr


def test_without_a_file_the_nodes_own_is_looked_for() -> None:
    """As `diff` does (A13): this host has none, and a booted node is in the lab."""
    done = nodenetctl("check")
    assert (done.returncode, done.stdout) == (64, "")
    assert "this node has no node file in /etc/nmstate/openshift" in done.stderr
