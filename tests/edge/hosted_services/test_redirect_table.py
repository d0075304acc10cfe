"""nodenet's own nft table, by the real nft in a network namespace."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from edge.namespace import Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.haproxy import TABLE, ports
from nodenet.edge.hosted_services.servers import RedirectTable

RULES = Path(__file__).parents[3] / "fixtures/hosted_services/control-plane/redirect.nft"
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nft") is None, reason="needs root and nft")
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def inside() -> Iterator[Run]:
    """Runs a coroutine in a namespace of its own."""
    namespace = Namespace()
    yield lambda asked: namespace.call(lambda: asyncio.run(asked))
    namespace.close()


def test_it_comes_and_goes_whole_and_twice_is_no_error(inside: Run) -> None:
    table = RedirectTable()
    assert inside(table.is_there()) is False
    inside(table.remove())
    for _ in range(2):
        inside(table.put(RULES.read_text()))
        assert inside(table.is_there()) is True
    inside(table.remove())
    assert inside(table.is_there()) is False


def test_what_nft_prints_leads_to_the_same_port(inside: Run) -> None:
    table = RedirectTable()
    inside(table.put(RULES.read_text()))
    assert ports(inside(table.printed())) == ports(RULES.read_text()) == {"9445"}


def test_rules_that_nft_refuses_change_nothing(inside: Run) -> None:
    table = RedirectTable()
    inside(table.put(RULES.read_text()))
    with pytest.raises(Unavailable, match=f"nft refuses the table {TABLE}: .*syntax error"):
        inside(table.put(f"delete table {TABLE}\ncolour blue\n"))
    assert inside(table.is_there()) is True


def test_another_table_is_its_own(inside: Run) -> None:
    other = RedirectTable(table="inet nodenet_dns")
    inside(RedirectTable().put(RULES.read_text()))
    assert inside(other.is_there()) is False
    inside(other.remove())
    assert inside(RedirectTable().is_there()) is True


async def test_a_node_without_nft_is_named() -> None:
    with pytest.raises(Unavailable, match="/nowhere/nft does not start: No such file or directory"):
        await RedirectTable("/nowhere/nft").is_there()
