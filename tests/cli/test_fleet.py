"""`nodenetctl fleet`: many nodes from saved documents, the odd ones marked, and hostile documents that harm nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench.fleet import documents
from crafted_archives import crafted, member
from nodenet.cli.main import main
from nodenet.edge.report import packed

CHROMIUM = shutil.which("chromium")
MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def archive(directory: Path, number: int, **changed: Any) -> dict[str, bytes]:
    """Write the report of a node; returns its parts."""
    parts = documents(number, **changed)
    _write(directory / f"n{number}.tar.gz", parts)
    return parts


def _write(path: Path, parts: dict[str, bytes]) -> None:
    path.write_bytes(packed("top", parts, 0.0))


def changed(part: bytes, change: Callable[[Any], object]) -> bytes:
    value = json.loads(part)
    change(value)
    return json.dumps(value).encode()


def ask(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    code = main(["fleet", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def odd(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is odd, by host."""
    return {each["host"]: sorted(mark["what"] for mark in each["odd"]) for each in document["hosts"] if each["odd"]}


def test_a_fleet_without_an_odd_node_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(6):
        archive(tmp_path, number)
    code, found = ask(capsys, tmp_path)
    assert (code, odd(found), found["left_out"]) == (0, {}, [])
    first = found["hosts"][0]
    assert first["host"] == "control-0"
    assert first["role"] == "control-plane"
    assert first["since"] == "2026-11-28T06:00:05Z"
    assert (first["mtu"], first["uplink"], first["node_ips"], first["version"]) == (1500, "eth0", ["10.0.0.0"], "0.1.0")
    assert main(["fleet", str(tmp_path)]) == 0
    assert "6 nodes, 0 odd." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "change", "what"),
    [
        ("status.json", lambda it: it.update(health="degraded", last_error={"cause": "lost"}), "health"),
        ("status.json", lambda it: it.update(ready=False), "health"),
        ("status.json", lambda it: it.update(digest="cd" * 32, applied_digest="cd" * 32), "digest"),
        ("status.json", lambda it: it.update(applied_digest="cd" * 32), "digest"),
        ("status.json", lambda it: it.update(node_ips=["10.0.0.4"]), "node IPs"),
        ("status.json", lambda it: it["stages"][1].update(ended=60.0), "boot"),
        ("snapshot.json", lambda it: it["links"][0].update(mtu=9000), "MTU"),
        ("snapshot.json", lambda it: it["links"][0].update(address="52:54:00:00:00:04"), "MAC"),
        ("snapshot.json", lambda it: it["addresses"][0]["addr_info"][0].update(local="10.0.0.4"), "node IPs"),
        ("contents.json", lambda it: it.update(nodenet="0.0.9"), "version"),
    ],
)
def test_the_odd_node_is_marked(
    part: str, change: Callable[[Any], None], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One node of five workers has another value; a value that two have in common marks both."""
    for number in range(3, 8):
        parts = archive(tmp_path, number)
    _write(tmp_path / "n7.tar.gz", {**parts, part: changed(parts[part], change)})
    code, found = ask(capsys, tmp_path)
    shared = {"worker-4": [what]} if what in ("MAC", "node IPs") else {}
    assert (code, odd(found)) == (1, {"worker-7": [what], **shared})


def test_values_of_each_host_are_not_odd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3, 8):
        digest = f"{number:064x}"
        archive(tmp_path, number, digest=digest, applied_digest=digest)
    assert ask(capsys, tmp_path)[0] == 0


def test_snapshots_states_and_unpacked_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each form is a node; two files of one node are one row; what is not known is named."""
    parts = {number: documents(number) for number in range(3, 8)}
    (tmp_path / "worker-3.json").write_bytes(parts[3]["snapshot.json"])
    (tmp_path / "worker-4.json").write_bytes(parts[4]["status.json"])
    (tmp_path / "worker-5.state.json").write_bytes(parts[5]["status.json"])
    (tmp_path / "worker-5.snapshot.json").write_bytes(parts[5]["snapshot.json"])
    for folder, names in (("worker-6", ("state.json", "snapshot.json")), ("report", tuple(parts[7]))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_bytes(
                parts[int(folder[-1]) if folder[-1].isdigit() else 7]["status.json" if name == "state.json" else name]
            )
    code, found = ask(capsys, tmp_path)
    rows = {each["host"]: each for each in found["hosts"]}
    assert (code, list(rows)) == (0, [f"worker-{number}" for number in range(3, 8)])
    assert (rows["worker-3"]["health"], rows["worker-3"]["macs"]) == (None, ["52:54:00:00:00:03"])
    assert rows["worker-3"]["missing"] == ["no status: health, node file and boot are not known"]
    assert (rows["worker-3"]["node_ips"], rows["worker-3"]["mtu"]) == (["10.0.0.3"], 1500)
    assert rows["worker-4"]["missing"] == ["no snapshot: MACs, MTU and addresses are not known"]
    assert (rows["worker-5"]["missing"], rows["worker-6"]["missing"]) == ([], [])
    assert rows["worker-5"]["mtu"] == rows["worker-6"]["mtu"] == 1500


def test_an_older_version_had_no_mtu_in_the_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = documents(3)
    without = changed(parts["snapshot.json"], lambda it: [it[part][0].pop("mtu") for part in ("links", "addresses")])
    late = {"ip-address.txt": b"2: eth0: <UP,LOWER_UP> mtu 9000 qdisc mq state UP group default\n    link/ether\n"}
    _write(tmp_path / "n3.tar.gz", {**parts, "snapshot.json": without, **late})
    (tmp_path / "worker-4.json").write_bytes(without)
    _, found = ask(capsys, tmp_path)
    assert [each["mtu"] for each in found["hosts"]] == [9000, None]
    assert "the snapshot has no MTU: it is of an older version" in found["hosts"][1]["missing"]


def test_the_newest_report_of_a_node_counts_and_two_nodes_of_one_name_are_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = archive(tmp_path, 3)
    newer = changed(parts["contents.json"], lambda it: it.update(made="2026-11-29T07:00:00Z"))
    _write(tmp_path / "newer.tar.gz", {**parts, "contents.json": newer})
    code, found = ask(capsys, tmp_path)
    assert (code, [each["place"] for each in found["hosts"]]) == (0, ["newer.tar.gz"])
    assert found["left_out"] == [{"place": "n3.tar.gz", "why": "there are newer documents of worker-3"}]
    archive(tmp_path, 4, hostname="worker-3")
    code, found = ask(capsys, tmp_path)
    assert (code, [each["host"] for each in found["hosts"]]) == (1, ["worker-3", "worker-3"])
    assert [mark["what"] for each in found["hosts"] for mark in each["odd"]] == ["host", "host"]


def test_expected_hosts_that_are_missing_are_odd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the fleet has no document; one that is not on the list is named as well."""
    directory = tmp_path / "fleet"
    directory.mkdir()
    for number in (3, 4, 9):
        archive(directory, number)
    names = tmp_path / "names"
    names.write_text("node/worker-3\nworker-4.example.org  # rack 2\nworker-5\nworker-10\n")
    code, found = ask(capsys, directory, "--expect", names)
    assert (code, found["expected_and_missing"]) == (1, ["worker-5", "worker-10"])
    assert odd(found) == {"worker-9": ["host"]}
    names.write_text("# none\n")
    assert main(["fleet", str(directory), "--expect", str(names)]) == 64


@pytest.mark.parametrize("words", [["nowhere"], ["."]])
def test_a_folder_without_nodes_is_wrong_usage(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fleet", *words]) == 64
    assert capsys.readouterr().err.startswith("nodenetctl: ")


def test_hostile_archives_cost_a_row_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Torn, no archive, with paths that lead out, with links and devices: each is said, the good node is shown."""
    directory = tmp_path / "fleet"
    directory.mkdir()
    good = archive(directory, 3)
    (directory / "torn.tar.gz").write_bytes((directory / "n3.tar.gz").read_bytes()[:300])
    (directory / "noise.tar.gz").write_bytes(os.urandom(500))
    (directory / "empty.tgz").write_bytes(b"")
    crafted(directory / "out.tar.gz", member("../status.json", content=good["status.json"]), member("/etc/status.json"))
    crafted(
        directory / "links.tar.gz",
        member("top/status.json", tarfile.SYMTYPE, link="/etc/passwd"),
        member("top/snapshot.json", tarfile.LNKTYPE, link="../../etc/passwd"),
        member("top/settings.txt", tarfile.CHRTYPE),
        member("top/boot-report.txt", tarfile.FIFOTYPE),
    )
    (directory / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(directory / "hole.json")
    os.mkfifo(directory / "pipe.tar.gz")
    (directory / "deep.json").write_bytes(b"[" * 100_000)
    (directory / "digits.json").write_bytes(b'{"health": "ok", "stages": [{"started": %s}]}' % (b"9" * 5000))
    code, found = ask(capsys, directory)
    rows = {each["place"]: "; ".join(each["missing"]) for each in found["hosts"]}
    assert code == 1
    assert rows.pop("n3.tar.gz") == ""
    assert set(rows) == {
        *("torn.tar.gz", "noise.tar.gz", "empty.tgz", "out.tar.gz", "links.tar.gz", "pipe.tar.gz"),
        *("hole", "deep", "digits"),
    }
    assert "torn or damaged" in rows["torn.tar.gz"]
    assert "no archive of `nodenetctl report`" in rows["out.tar.gz"]
    assert "status.json is no file in the archive" in rows["links.tar.gz"]
    assert "no regular file" in rows["hole"]
    assert found["left_out"] == [{"place": "link.json", "why": "a link, which is not followed"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"health": 3, "hostname": ["x"], "node_ips": "10.0.0.1", "stages": "none", "last_error": [], "link": {}},
        {"stages": [None, {"started": 1e308, "ended": -1e308}, {"started": True, "ended": "x"}, {"started": 0}]},
        {"stages": [{"started": float("nan"), "ended": float("inf")}], "node_ips": [1, None, "x", "::1%eth0"]},
        {"hostname": "x" * 100_000, "digest": "y" * 100_000, "node_file": "z" * 100_000, "version": None},
        dict.fromkeys(("hostname", "digest", "node_file", "link", "uplink", "health", "since"), "\ud800"),
    ],
)
def test_values_of_a_wrong_type_or_size_harm_nothing(
    wrong: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive(tmp_path, 3, **wrong)
    code = main(["fleet", str(tmp_path), "--html", str(tmp_path / "page.html")])
    assert code in (0, 1)
    assert (tmp_path / "page.html").stat().st_size < 20_000
    assert main(["fleet", str(tmp_path)]) == code
    assert len(capsys.readouterr().out) < 5_000


class Tags(HTMLParser):
    """Every tag of a page, with its attributes, and the text of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)


def test_markup_in_names_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("hostname", "health", "node_file", "digest", "link", "uplink")
    archive(tmp_path, 3, **dict.fromkeys(texts, MARKUP), last_error={"cause": MARKUP + "\x1b[31m"})
    (tmp_path / f"{MARKUP.replace('/', '')}.json").write_bytes(b"{")
    (tmp_path / f"{MARKUP.replace('/', '')}").symlink_to("x")
    page = tmp_path / "page.html"
    assert main(["fleet", str(tmp_path), "--html", str(page)]) == 1
    found = Tags(page.read_text())
    assert (found.tags.count("script"), found.tags.count("img")) == (1, 0)
    assert "onerror" not in found.attributes
    assert page.stat().st_mode & 0o777 == 0o600
    main(["fleet", str(tmp_path)])
    assert "\x1b" not in capsys.readouterr().out


def test_the_page_cannot_take_the_place_of_a_folder(tmp_path: Path) -> None:
    archive(tmp_path, 3)
    assert main(["fleet", str(tmp_path), "--html", str(tmp_path)]) == 64
    assert main(["fleet", str(tmp_path), "--html", str(tmp_path / "no" / "page.html")]) == 64


TRY = """
const took = {};
function timed(name, action) { const began = performance.now(); action(); document.body.offsetHeight;
  took[name] = performance.now() - began; }
const first = () => document.querySelector('tbody tr').cells[0].textContent;
const seen = {at_first: first(), rows: document.querySelectorAll('tbody tr').length};
timed('sort', () => document.querySelectorAll('thead button')[0].click());
timed('back', () => document.querySelectorAll('thead button')[0].click());
seen.last = first();
timed('filter', () => { const words = document.getElementById('words'); words.value = 'worker-17 ok';
  words.dispatchEvent(new Event('input')); });
seen.count = document.getElementById('count').textContent;
timed('odd', () => { document.getElementById('words').value = ''; document.getElementById('only-odd').click(); });
seen.odd = document.getElementById('count').textContent;
seen.inline = (() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';
  document.body.append(s); return window.ran || 0; })();
const out = document.createElement('pre'); out.id = 'seen'; out.textContent = JSON.stringify({...seen, took});
document.body.append(out);
"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_sorts_and_filters_in_chromium(tmp_path: Path) -> None:
    """Ten thousand nodes, each action in less than a second; its policy lets no other script run."""
    from nodenet.core.fleet.host import Host  # noqa: PLC0415
    from nodenet.core.fleet.odd import Mark  # noqa: PLC0415
    from nodenet.core.fleet.shown import SCRIPT, Fleet, page  # noqa: PLC0415
    from nodenet.core.page.markup import hash_of  # noqa: PLC0415

    hosts = tuple(
        Host(f"worker-{n}", f"n{n}", "worker", "ok", node_ips=(f"10.0.{n >> 8}.{n & 255}",)) for n in range(10_000)
    )
    fleet = Fleet(hosts, {"n5": [Mark("MTU", "9000")], "n17": [Mark("host", "x")]})
    text = "".join(page(fleet, "now"))
    assert len(text) < 20 << 20
    # The script of the test is put into that of the page, with its hash: the page itself lets no other one in.
    both = SCRIPT + TRY
    text = text.replace(hash_of(SCRIPT), hash_of(both)).replace(SCRIPT, both)
    (tmp_path / "page.html").write_text(text)
    command = [
        *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"),
        *(f"--user-data-dir={tmp_path}/profile", f"file://{tmp_path}/page.html"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    seen = json.loads(done.stdout.partition('<pre id="seen">')[2].partition("</pre>")[0])
    assert (seen["at_first"], seen["last"], seen["rows"]) == ("worker-0", "worker-9999", 500)
    assert (seen["count"], seen["odd"], seen["inline"]) == ("111 of 10000 nodes", "2 of 10000 nodes", 0)
    assert max(seen["took"].values()) < 1000, seen["took"]
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line and "Content Security" not in line] == []
