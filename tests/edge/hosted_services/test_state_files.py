"""Caches, the administrator's file and weights on a real disk."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services.resource import FILE_BYTES
from nodenet.edge.hosted_services.state_files import CacheFiles


def files(directory: Path) -> CacheFiles:
    return CacheFiles(PurePosixPath(directory), PurePosixPath(directory, "resource.yaml"))


def test_the_administrators_file_is_parsed_once_for_each_content(tmp_path: Path) -> None:
    """It is looked at with each look at DNS, and a parser of YAML would block the daemon each time (R43)."""
    ours, path = files(tmp_path), tmp_path / "resource.yaml"
    assert ours.resource() is None
    path.write_text("spec: {ingressHa: Disabled}\n")
    first = ours.resource()
    assert first == {"spec": {"ingressHa": "Disabled"}}
    assert ours.resource() is first
    path.write_text("spec: {}\n")
    assert ours.resource() == {"spec": {}}


def test_a_file_that_cannot_be_parsed_is_refused_at_every_look_and_one_that_is_too_long_is_not_parsed(
    tmp_path: Path,
) -> None:
    """A key that is a list ended the look with an error of the parser's (R42)."""
    ours, path = files(tmp_path), tmp_path / "resource.yaml"
    path.write_text("[[a]]: b\n")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"resource.yaml, line 1"):
            ours.resource()
    path.write_bytes(b"#" * (FILE_BYTES + 1))
    with pytest.raises(PublishFailed, match="is larger than"):
        ours.resource()
