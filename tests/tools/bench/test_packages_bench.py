"""The section about packages: what it shows, and what is measured."""

from __future__ import annotations

from pathlib import Path

from bench.figures import PACKAGES
from bench.packages import packed, section, unpacked


def test_the_section_says_whether_the_aims_are_met() -> None:
    text = section({"Debian package": 16_000_000}, [("interpreter", 28_000_000, 9_000_000), ("all", 60_000_000, 1)])
    assert text.startswith(PACKAGES)
    assert "16.0 MB" in text
    assert ": met" in text
    assert ": missed" in section({}, [("interpreter", 31_000_000, 9_000_000)])


def test_sizes(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/file").write_bytes(b"\0" * 100_000)
    assert unpacked(tmp_path) == 100_000
    assert 0 < packed(tmp_path) < 10_000
