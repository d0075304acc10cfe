"""A store that is new beside the marker of this boot was lost."""

from __future__ import annotations

from pathlib import Path

from nodenet.cni.store_marker import was_lost


def test_a_new_store_is_lost_only_where_this_boot_had_one(tmp_path: Path) -> None:
    marker = tmp_path / "ipam.boot"
    assert not was_lost(marker, "b1", fresh=True)  # the first start
    assert not was_lost(marker, "b1", fresh=False)
    assert was_lost(marker, "b1", fresh=True)
    assert was_lost(marker, "b1", fresh=False)  # and stays so, whatever the new store is
    assert not was_lost(marker, "b2", fresh=True)  # no sandbox is older than the boot


def test_a_marker_that_cannot_be_read_says_that_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "ipam.boot").mkdir()
    assert was_lost(tmp_path / "ipam.boot", "b1", fresh=False)
