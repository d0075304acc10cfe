"""Caches, the administrator's file and weights on a real disk."""

from __future__ import annotations

import time
from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services.resource import FILE_BYTES
from nodenet.edge.hosted_services.state_files import CacheFiles


def files(directory: Path) -> CacheFiles:
    return CacheFiles(PurePosixPath(directory), PurePosixPath(directory, "resource.yaml"))


async def test_the_administrators_file_is_parsed_once_for_each_content(tmp_path: Path) -> None:
    """It is looked at with each look at DNS, and a parser of YAML would block the daemon each time (R43)."""
    ours, path = files(tmp_path), tmp_path / "resource.yaml"
    assert await ours.resource() is None
    path.write_text("spec: {ingressHa: Disabled}\n")
    first = await ours.resource()
    assert first == {"spec": {"ingressHa": "Disabled"}}
    assert await ours.resource() is first
    path.write_text("spec: {}\n")
    assert await ours.resource() == {"spec": {}}


async def test_a_file_that_cannot_be_parsed_is_refused_at_every_look_and_one_that_is_too_long_is_not_parsed(
    tmp_path: Path,
) -> None:
    """A key that is a list ended the look with an error of the parser's (R42)."""
    ours, path = files(tmp_path), tmp_path / "resource.yaml"
    path.write_text("[[a]]: b\n")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"resource.yaml, line 1"):
            await ours.resource()
    path.write_bytes(b"#" * (FILE_BYTES + 1))
    with pytest.raises(PublishFailed, match="is larger than"):
        await ours.resource()


async def test_the_longest_file_holds_the_loop_for_a_fifth_of_a_second_at_most(tmp_path: Path) -> None:
    """A parser of YAML needs a second for it, and nodenetd answers on the bus meanwhile."""
    line = "- {name: node-%05d, role: worker, addresses: [192.0.2.1]}\n"
    text = "status:\n  nodes:\n" + "".join(f"  {line % n}" for n in range(4200))
    assert FILE_BYTES * 0.9 < len(text) < FILE_BYTES
    (tmp_path / "resource.yaml").write_text(text)
    began, all_began = time.thread_time(), time.process_time()
    found = await files(tmp_path).resource()
    busy, everything = time.thread_time() - began, time.process_time() - all_began
    assert isinstance(found, dict)
    assert len(found["status"]["nodes"]) == 4200
    assert busy < min(0.2, everything / 2), "the thread of the loop has done the work itself"
