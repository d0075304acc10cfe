"""`nodenetctl diff`: bad input, on any machine; what it prints of a node is tested in `test_preview` and in the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.test_main import nodenetctl

pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("new.yml", None, 64, "new.yml is not a file"),
        ("new.yml", b"interfaces: [\n", 65, "new.yml, line 2"),
        ("new.yml", b"\xff", 65, "not UTF-8"),
        ("new.yml", b"interfaces:\n- name: eth0\n  tpye: ethernet\n", 65, "tpye"),
        ("new.yml", b"#" * (1 << 20) + b"\n", 65, "is larger than 1024 KiB"),
    ],
    ids=["missing", "torn", "not UTF-8", "unknown key", "too large"],
)
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, content: bytes | None, code: int, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = nodenetctl("diff", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_file_that_asks_for_nothing_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "new.yml").write_text("# later\n")
    done = nodenetctl("diff", str(tmp_path / "new.yml"))
    assert (done.returncode, done.stdout) == (0, "new.yml changes nothing on this node.\n")
