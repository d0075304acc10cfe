"""An Ignition configuration carries files, and they are read back to the same bytes."""

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.day_one.machine_config import files_in_ignition, render_ignition
from nodenet.core.day_one.reading import ArtefactInvalid, CarriedFile

NAMES = st.text(min_size=1, max_size=20).filter(
    lambda name: name.isprintable() and "/" not in name and ".." not in name
)
"""Whatever a file system takes: blanks, colons, quotes, numbers; not only what a host is called."""
FILES = st.lists(
    st.builds(
        CarriedFile,
        NAMES.map(lambda name: PurePosixPath("/etc/nmstate/openshift") / f"{name}.yml"),
        st.binary(max_size=200),
        st.sampled_from((0o600, 0o644)),
    ),
    unique_by=lambda file: file.path,
    max_size=5,
)


@given(FILES)
def test_files_come_back_and_the_bytes_are_stable(files: list[CarriedFile]) -> None:
    text = render_ignition(files)
    assert text == render_ignition(reversed(files))
    assert files_in_ignition(json.loads(text)) == tuple(sorted(files, key=lambda file: file.path))


def document(entry: object) -> dict[str, Any]:
    return {"ignition": {"version": "3.2.0"}, "storage": {"files": [entry]}}


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (7, "$ is not a mapping"),
        ({"ignition": {"version": "2.2.0"}}, "$.ignition.version is '2.2.0'; versions 3.x are read"),
        (document(7), "$.storage.files[0] is not a mapping"),
        (document({"path": "x"}), "$.storage.files[0].path is not an absolute path"),
        (
            document({"path": "/x", "mode": "0644"}),
            "$.storage.files[0].mode is '0644'; expected a number such as 420 (octal 0644)",
        ),
        (
            document({"path": "/x", "contents": {"compression": "gzip", "source": "data:,"}}),
            "$.storage.files[0].contents.compression is 'gzip'; write it uncompressed",
        ),
        (
            document({"path": "/x", "contents": {"source": "https://example.com"}}),
            "$.storage.files[0].contents.source is no data URL; only files whose content is inside are read",
        ),
    ],
)
def test_what_cannot_be_read_names_its_place(found: object, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        files_in_ignition(found)
    assert str(caught.value) == problem


def test_one_path_twice_is_refused() -> None:
    entry = {"path": "/x", "contents": {"source": "data:,a"}}
    twice = {"ignition": {"version": "3.2.0"}, "storage": {"files": [entry, entry]}}
    with pytest.raises(ArtefactInvalid, match=r"^\$\.storage\.files has /x twice$"):
        files_in_ignition(twice)
