"""`nodenetctl report`: one archive, whatever the node is like."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from browser import Page
from cli.test_main import environment, nodenetctl
from nodenet.cli.report import _path, gathered, page_of
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.record import Change, What, render
from nodenet.core.change.way_back import Network
from nodenet.core.errors import UsageInvalid
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.report import parts
from nodenet.core.report.parts import PARTS, Part
from nodenet.core.report.secrets import in_json
from nodenet.edge import report as sources
from nodenet.edge.report import RECORDS
from nodenet.stages.apply.records import CHANGE


def test_the_archive_begins_with_its_contents_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "r.tar.gz"
    path.symlink_to(tmp_path / "elsewhere")
    done = nodenetctl("report", "--output", str(path), "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert not (tmp_path / "elsewhere").exists()
    assert (printed["path"], printed["bytes"]) == (str(path), path.stat().st_size)
    with tarfile.open(path) as archive:
        names = archive.getnames()
        first = archive.extractfile(names[0])
        assert first is not None
        contents = json.loads(first.read())
    top = names[0].partition("/")[0]
    assert names == [f"{top}/{name}" for name in ("contents.json", *(part["name"] for part in contents["parts"]))]
    assert {part["name"] for part in contents["parts"]} >= {part.name for part in PARTS}
    assert printed["parts"] == contents["parts"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.tar.gz"]


def test_the_list_is_printed(tmp_path: Path) -> None:
    done = nodenetctl("report", "--output", str(tmp_path / "r.tar.gz"))
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["FILE", "BYTES", "WHAT", "NOTE"]
    assert any(line.startswith("versions.txt ") for line in lines)
    assert lines[-1].startswith(f"{tmp_path}/r.tar.gz has ")


@pytest.mark.parametrize("words", [("--output", "/"), ("--output", "/no/such/place"), ("--output", "-", "--json")])
def test_a_place_that_cannot_be(words: tuple[str, ...]) -> None:
    done = nodenetctl("report", *words)
    assert (done.returncode, done.stdout) == (64, "")


@pytest.mark.parametrize("place", ["/dev/null", "/dev/stdout", "pipe"])
def test_no_device_and_no_pipe_is_replaced(place: str, tmp_path: Path) -> None:
    """The archive takes a place by rename(2): without its /dev/null, no program of the node works."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageInvalid, match="or - for standard output"):
        _path(tmp_path / place)


def test_a_part_that_fails_has_a_note_and_the_others_are_there() -> None:
    parts = (Part("a", "A", ("false",)), Part("b", "B", ("sleep", "1000"), seconds=0.5), Part("c", "C", ("echo", "c")))
    made = {one.name: one for one in gathered(parts)}
    assert (made["a"].note, made["b"].note, made["c"].note) == ("exit status 1", "stopped after 0.5 s", "")
    assert made["c"].content == b"c\n"


def test_what_commands_print_is_without_secrets() -> None:
    (made,) = (one for one in gathered((Part("a", "A", ("echo", "psk=hunter2")),)) if one.name == "a")
    assert made.content == b"psk=<hidden>\n"


def test_a_record_is_shown_without_its_secrets_and_one_that_is_torn_is_not(tmp_path: Path) -> None:
    """The record of br-ex has the uplink's profile with its secrets (802.1X)."""
    record = {"settings": {"802-1x": ["dict", {"password": ["variant", "s", ["plain", "hunter2"]]}]}, "bridge": "br-ex"}
    whole, torn, gone = (tmp_path / name for name in ("whole", "torn", "gone"))
    whole.write_text(json.dumps(record, indent=1))
    torn.write_text(whole.read_text()[:-2])
    parts = tuple(Part(f"{path.name}.json", "", ("cat", str(path)), record=True) for path in (whole, torn, gone))
    made = {one.name: one for one in gathered(parts)}
    assert json.loads(made["whole.json"].content)["bridge"] == "br-ex"
    assert b"hunter2" not in made["whole.json"].content
    assert (made["torn.json"].content, made["torn.json"].note) == (
        b"",
        "left out: it is not valid JSON, so its secrets cannot be found",
    )
    assert made["gone.json"].note == "not in use on this node"
    assert b"No such file" in made["gone.json"].content


def test_every_part_from_a_record_with_secrets_is_known_as_one() -> None:
    assert {part.name for part in PARTS if part.record} == set(parts.RECORDS)
    assert {Path(part.command[1]) for part in PARTS if part.record} <= set(map(Path, RECORDS))


def test_the_secrets_from_before_a_trial_are_known() -> None:
    """The file on trial may have replaced the profile that has them: then no keyfile names them any more."""
    settings = {"802-1x": ["dict", {"password": ["variant", "s", ["plain", "hunter2-rack"]]}]}
    profile = KeptProfile("u-0", "eth0", "/etc/eth0.nmconnection", in_memory=False, settings=settings)
    change = Change(What.TRIAL, "new.yml", Intent("d", Phase.APPLYING, "b1", 1.0), Network(("eth0",), (profile,)))
    assert "hunter2-rack" in in_json(render(change).decode())
    assert Path(CHANGE) in map(Path, RECORDS)


def test_the_archive_on_standard_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodenet.cli.main", "report", "--output", "-"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment())
    (tmp_path / "r.tar.gz").write_bytes(done.stdout)
    listed = subprocess.run(["tar", "-tzf", tmp_path / "r.tar.gz"], capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines()[0].endswith("/contents.json")


def archive(path: Path, files: dict[str, object], **about: object) -> Path:
    """Write an archive as another version of nodenet may have made it."""
    parts = [{"name": name, "what": "w", "bytes": 0, "note": ""} for name in files]
    contents = {"schema_version": 1, "node": "other", "made": "2026-01-01", "nodenet": "0.0.9", "parts": parts, **about}
    texts = {"contents.json": contents, **files}
    packed = {name: (each if isinstance(each, str) else json.dumps(each)).encode() for name, each in texts.items()}
    path.write_bytes(sources.packed("top", packed, 1.0))
    return path


def test_the_page_of_an_archive_is_made_anywhere_and_says_what_is_missing(tmp_path: Path) -> None:
    """Of another host and an older version; a secret that this version would hide is hidden."""
    status = {"health": "ok", "psk": "hunter2", "problems": []}
    path = archive(tmp_path / "r.tar.gz", {"status.json": status, "settings.txt": "password = hunter2"})
    done = nodenetctl("report", "--html", str(tmp_path / "p.html"), "--from", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert stat.S_IMODE((tmp_path / "p.html").stat().st_mode) == 0o600
    page = Page((tmp_path / "p.html").read_text())
    assert page.wrong == []
    assert page.of("heading")[0] == "other"
    assert "hunter2" not in page.text
    assert "history.json: this report has no such part" in " ".join(page.of("main"))
    printed = nodenetctl("report", "--html", "-", "--from", str(path))
    assert printed.stdout == page.text


def test_an_archive_of_a_newer_version_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    page = Page(page_of(archive(tmp_path / "r.tar.gz", {"lost.txt": ""}, schema_version=2)))
    assert "A newer version of nodenet" in page.of("note")[0]


def test_an_archive_with_half_a_character_and_a_part_whose_name_is_a_number(tmp_path: Path) -> None:
    status = {"health": "ok", "hostname": "\ud800", "problems": [{"cause": "\ud800"}]}
    path = archive(tmp_path / "r.tar.gz", {"status.json": status}, parts=[{"name": 7}, {"name": "status.json"}])
    page = Page(page_of(path))
    assert page.wrong == []
    assert "?" in " ".join(page.of("main"))


@pytest.mark.parametrize("contents", ["", "[]", '{"parts": 7}', '{"parts": [{}]}', "[" * 100_000])
def test_an_archive_without_contents_is_refused(contents: str, tmp_path: Path) -> None:
    path = tmp_path / "r.tar.gz"
    path.write_bytes(sources.packed("top", {"contents.json": contents.encode()}, 1.0))
    done = nodenetctl("report", "--html", "-", "--from", str(path))
    assert (done.returncode, done.stdout) == (64, "")
    assert "has no readable contents.json" in done.stderr


@pytest.mark.parametrize(
    "words", [("--from", "x"), ("--html", "x", "--json"), ("--html", "x", "--output", "y"), ("--html", "/")]
)
def test_a_page_is_no_archive(words: tuple[str, ...]) -> None:
    assert nodenetctl("report", *words).returncode == 64
