"""Data URLs keep every byte, and a path never leaves its directory."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.day_one.files import ArtefactInvalid, checked_path, from_data_url, to_data_url


@given(st.binary(max_size=500))
def test_content_comes_back(content: bytes) -> None:
    url = to_data_url(content)
    assert url.startswith("data:text/plain;charset=utf-8;base64,")
    assert "\n" not in url
    assert from_data_url(url, "x") == content


@pytest.mark.parametrize(
    ("url", "content"),
    [
        ("data:,a%20b%0A", b"a b\n"),
        ("data:;base64,YQ==", b"a"),
        ("data:text/plain;base64,YQ%3D%3D", b"a"),
        ("data:,", b""),
    ],
)
def test_other_spellings_are_read(url: str, content: bytes) -> None:
    assert from_data_url(url, "x") == content


@pytest.mark.parametrize("url", [None, 7, "https://example.com/x", "data:x", "data:;base64,%", "data:;base64,ä"])
def test_what_is_no_data_url_is_refused(url: object) -> None:
    with pytest.raises(ArtefactInvalid, match=r"^here "):
        from_data_url(url, "here")


@pytest.mark.parametrize("path", [None, "", "/", "etc/x", "/etc/../x", "/a\nb", 7])
def test_a_path_that_leads_elsewhere_is_refused(path: object) -> None:
    with pytest.raises(ArtefactInvalid):
        checked_path(path, "path")


def test_a_plain_path_is_taken() -> None:
    assert checked_path("/etc/nmstate/openshift/a.yml", "p") == PurePosixPath("/etc/nmstate/openshift/a.yml")
