"""A cache is whole and of this cluster, or it is not used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.cluster import Cached, CacheInvalid, parse_cached, render_cached

DOMAIN = "ostest.example.com"
CACHED = Cached({"spec": {"ingressHa": "Disabled"}}, DOMAIN, "4711", 3, "boot-1")


def test_what_was_written_is_read() -> None:
    assert parse_cached(render_cached(CACHED), DOMAIN) == CACHED
    assert render_cached(CACHED) == render_cached(parse_cached(render_cached(CACHED), DOMAIN))


@pytest.mark.parametrize("length", range(0, len(render_cached(CACHED)) - 1, 7))
def test_a_torn_file_is_not_used(length: int) -> None:
    with pytest.raises(CacheInvalid, match="its checksum is wrong"):
        parse_cached(render_cached(CACHED)[:length], DOMAIN)


def test_another_clusters_file_is_not_used() -> None:
    with pytest.raises(CacheInvalid, match=r"it is of the cluster 'ostest\.example\.com', not of other\.example\.com"):
        parse_cached(render_cached(CACHED), "other.example.com")


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    with pytest.raises(CacheInvalid):
        parse_cached(content, DOMAIN)
