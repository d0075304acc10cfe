"""The section about packages: what it shows, and what is measured."""

from __future__ import annotations

from pathlib import Path

from bench.figures import PACKAGES, Figure, Unit
from bench.packages import packed, section, unpacked
from bench.packages_running import BUNDLED, OWN, compared


def test_the_section_says_whether_the_aims_are_met() -> None:
    parts = [("interpreter", 28_000_000, 9_000_000), ("all", 60_000_000, 1)]
    text = section(
        {"Debian package": 16_000_000}, parts, [Figure("pings lost", 0, Unit.TIMES, aim=0, why_missed="why")]
    )
    assert text.startswith(PACKAGES)
    assert "16.0 MB" in text
    assert ": met" in text
    assert "missed" not in text
    text = section(
        {}, [("interpreter", 31_000_000, 9_000_000)], [Figure("pings lost", 1, Unit.TIMES, 0, why_missed="why")]
    )
    assert ": missed" in text
    assert "- pings lost, missed: why" in text


def test_the_interpreters_are_compared() -> None:
    seconds = {OWN: [0.2, 0.3, 0.9], BUNDLED: [0.1, 0.15, 0.2]}
    own, bundled, ratio = compared("start", seconds)
    assert (own.value, bundled.value, ratio.value, ratio.met) == (300, 150, 0.5, True)
    assert [figure.name for figure in (own, bundled)] == [f"start, {OWN}", f"start, {BUNDLED}"]


def test_sizes(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/file").write_bytes(b"\0" * 100_000)
    assert unpacked(tmp_path) == 100_000
    assert 0 < packed(tmp_path) < 10_000
