"""How the API refuses: which refusals mean that it may not have been reached."""

from __future__ import annotations

import pytest

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.persistent_ips.api import ApiAway, Conflict, Expired, Forbidden, NotFound, Page


@pytest.mark.parametrize("kind", [Conflict, Expired, Forbidden, NotFound])
def test_an_answer_is_not_taken_for_silence(kind: type[NodenetError]) -> None:
    """After silence a request is sent again; after an answer it is not."""
    assert issubclass(ApiAway, Unavailable)
    assert not issubclass(kind, Unavailable)


def test_a_page_is_the_last_one_unless_it_says_so() -> None:
    assert Page((), "7").following == ""
