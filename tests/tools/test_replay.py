"""A report of a failing boot is simulated: the same decisions in the same order, or the first difference."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from nodenet.edge.archive import unpacked
from nodenet.edge.report import packed
from replay import main
from simulation.replay import _older

ARCHIVES = Path(__file__).parents[2] / "fixtures" / "replay"
SAME = "The simulation decides the same in the same order.\n"


@pytest.mark.parametrize("case", sorted(path.name for path in ARCHIVES.iterdir()))
def test_the_simulated_node_decides_what_the_booted_one_decided(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVES / case)]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out == SAME


def test_ten_failing_boots_are_kept() -> None:
    kept = [json.loads((path / "status.json").read_text()) for path in ARCHIVES.iterdir()]
    assert len(kept) >= 10
    assert [each for each in kept if each["health"] == "ok"] == []


def changed(tmp_path: Path, case: str, **files: bytes | None) -> str:
    """Return the archive of *case* with other *files*; None: without it."""
    found, _ = unpacked(ARCHIVES / case)
    for name, content in files.items():
        path = next(each for each in found if each.partition(".")[0] == name)
        found[path] = content or b""
    archive = tmp_path / "report.tar.gz"
    archive.write_bytes(packed("report", found, 0.0))
    return str(archive)


def test_the_first_difference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The node had another file than the archive has, or logged something else."""
    assert main([changed(tmp_path, "unknown-key", settings=b'deny_links ["eth0"] x\n')]) == 1
    said = capsys.readouterr().out
    assert said.startswith("decision ")
    assert "the node " in said
    assert "the simulation " in said
    events = (ARCHIVES / "unknown-key" / "events.jsonl").read_bytes()
    assert main([changed(tmp_path, "unknown-key", events=events.replace(b"nmstate", b"nodeip"))]) == 1
    assert "nodeip" in capsys.readouterr().out


@pytest.mark.parametrize("problems", [7, None, [7, {"stage": "configure-ovs", "cause": 7}]])
def test_problems_of_another_type_harm_nothing(
    problems: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = json.loads((ARCHIVES / "unknown-key" / "status.json").read_text())
    status["problems"] = problems
    for each in status["stages"]:
        each["detail"] = problems
    assert main([changed(tmp_path, "unknown-key", status=json.dumps(status).encode())]) == 0
    assert capsys.readouterr().out == SAME


def test_a_later_boot_is_another_one_without_its_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the node IPs of the last boot kubelet starts in spite of the file."""
    assert main([changed(tmp_path, "file-is-no-yaml-since-the-last-boot", records=None)]) == 1
    assert "ready: the node True, the simulation False" in capsys.readouterr().out


def test_records_that_are_older_than_the_boot_are_read() -> None:
    """What a record was before this boot has changed it is not known."""
    found, _ = unpacked(ARCHIVES / "lease-of-the-last-boot-is-gone")
    began = min(int(json.loads(line)["__REALTIME_TIMESTAMP"]) for line in found["events.jsonl"].splitlines()) / 1e6
    assert list(_older(found, began)) == ["selection.json"]
    assert list(_older(found, 0.0)) == []
    for damaged in (b"1.0 ../selection.json\n", b"9" * 5000 + b".0 selection.json\nnan selection.json\n", b"\xff"):
        assert list(_older({**found, "records.txt": damaged}, began)) == []


def test_an_archive_of_an_older_version_is_compared_at_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([changed(tmp_path, "unknown-key", events=None)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "the archive has no events: it is of an older version, and only the end is compared",
        "The simulation is otherwise.",
    ]


def test_damaged_events_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = (ARCHIVES / "unknown-key" / "events.jsonl").read_bytes()
    huge = b'{"MESSAGE_ID": [], "__REALTIME_TIMESTAMP": "%s"}\n' % (b"9" * 4000)
    damaged = b"torn\n[]\n" + b"[" * 100_000 + b"\n" + huge + events
    assert main([changed(tmp_path, "unknown-key", events=damaged)]) == 0
    assert capsys.readouterr().out == SAME


@pytest.mark.parametrize(
    ("part", "content", "said"),
    [
        ("status", b"{", "the archive has no readable status.json"),
        ("status", b'{"health": 3}', "the archive has no readable status.json"),
        ("status", b'{"health": "ok", "problems": 7, "stages": 7}', "the archive has no readable status.json"),
        ("snapshot", b"[]", "the archive cannot be simulated: "),
        ("settings", b'platform "moon" x\n', "the archive cannot be simulated: "),
        ("contents", b"[]", "the archive has no readable contents.json"),
    ],
)
def test_an_archive_that_cannot_be_simulated(
    tmp_path: Path, part: str, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([changed(tmp_path, "unknown-key", **{part: content})]) == 64
    assert said in capsys.readouterr().err


def test_what_is_no_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_bytes(b"no archive")
    assert main([str(tmp_path / "other")]) == 64
    assert "is no readable archive: the archive is torn or damaged: Not a gzipped file" in capsys.readouterr().err


def test_a_folder_is_read_with_limits_and_no_link_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe would block, /dev/zero has no end, and a link may lead to any file of this machine."""
    folder = tmp_path / "report"
    shutil.copytree(ARCHIVES / "unknown-key", folder)
    for name in ("status.json", "events.jsonl"):
        (folder / name).unlink()
    (folder / "status.json").symlink_to(ARCHIVES / "unknown-key" / "status.json")
    os.mkfifo(folder / "events.jsonl")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "records").symlink_to("/etc")
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert main([str(folder)]) == 64
    assert "the archive has no readable status.json" in capsys.readouterr().err
    files, notes = unpacked(folder)
    assert sorted(files) == [
        "contents.json",
        "node-files/worker-0.yml.json",
        "resolv.conf",
        "settings.txt",
        "snapshot.json",
    ]
    said = " ".join(notes)
    assert "huge is larger than 32 MiB" in said
    assert "events.jsonl cannot be read: it is no regular file" in said
    assert "status.json cannot be read: " in said
