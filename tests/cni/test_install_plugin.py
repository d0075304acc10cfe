"""Copying the CNI plugin to where container runtimes look."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.cni.install_plugin import install


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "nodenet-ipam"
    path.write_bytes(b"\x7fELF first")
    return path


def directories(tmp_path: Path, *names: str) -> list[Path]:
    made = [tmp_path / name for name in names]
    for directory in made:
        directory.mkdir()
    return made


def test_each_directory_that_exists_gets_it(tmp_path: Path, plugin: Path) -> None:
    one, two = directories(tmp_path, "one", "two")
    assert install(plugin, [one, tmp_path / "missing", two])
    for directory in (one, two):
        (copy,) = directory.iterdir()
        assert (copy.name, copy.read_bytes(), copy.stat().st_mode & 0o7777) == ("nodenet-ipam", b"\x7fELF first", 0o755)
    assert not (tmp_path / "missing").exists()


def test_an_older_one_is_replaced_while_it_is_executed(tmp_path: Path, plugin: Path) -> None:
    """In one step: who has the older one open goes on with it."""
    (one,) = directories(tmp_path, "one")
    install(plugin, [one])
    with (one / "nodenet-ipam").open("rb") as held:
        plugin.write_bytes(b"\x7fELF second")
        assert install(plugin, [one])
        assert held.read() == b"\x7fELF first"
    assert [path.read_bytes() for path in one.iterdir()] == [b"\x7fELF second"]


def test_the_same_one_is_not_written_again(tmp_path: Path, plugin: Path) -> None:
    (one,) = directories(tmp_path, "one")
    install(plugin, [one])
    before = (one / "nodenet-ipam").stat()
    assert install(plugin, [one])
    assert (one / "nodenet-ipam").stat() == before


def test_a_directory_that_cannot_be_written_does_not_keep_the_others_from_it(tmp_path: Path, plugin: Path) -> None:
    one, two = directories(tmp_path, "one", "two")
    (one / "nodenet-ipam").mkdir()
    (one / "nodenet-ipam/file").touch()
    assert not install(plugin, [one, two])
    assert (two / "nodenet-ipam").read_bytes() == b"\x7fELF first"
    assert [path.name for path in one.iterdir()] == ["nodenet-ipam"]


@pytest.mark.parametrize("names", [[], ["missing"]])
def test_without_a_directory_it_fails(tmp_path: Path, plugin: Path, names: list[str]) -> None:
    assert not install(plugin, [tmp_path / name for name in names])


def test_without_the_plugin_it_fails(tmp_path: Path) -> None:
    (one,) = directories(tmp_path, "one")
    assert not install(tmp_path / "gone", [one])
    assert list(one.iterdir()) == []
