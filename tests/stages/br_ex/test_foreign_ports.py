"""Are ports of other programs logged once a boot?"""

from __future__ import annotations

import structlog

from br_ex_cases import CASES, facts_of
from fakes import FakeFiles
from nodenet.core.br_ex.condition import condition_of
from nodenet.stages.br_ex.foreign_ports import PORTS_OF_OTHERS, log_ports_of_others

FOUND = condition_of(facts_of(CASES / "standing-ours-with-ports-of-others"), wanted="eth0")
SENTENCES = [
    "another program added the port aaa0 to br-ex; nodenet does not change it",
    "another program added the port tenant0 to br-ex; nodenet does not change it",
]


def test_each_port_is_logged_once() -> None:
    files = FakeFiles()
    with structlog.testing.capture_logs() as logs:
        log_ports_of_others(files, [FOUND])
        log_ports_of_others(files, [FOUND])
    assert [line["event"] for line in logs] == SENTENCES


def test_a_port_that_comes_back_is_news_again() -> None:
    files = FakeFiles()
    with structlog.testing.capture_logs() as logs:
        log_ports_of_others(files, [FOUND])
        log_ports_of_others(files, [])
        assert files.content[str(PORTS_OF_OTHERS)] == b""
        log_ports_of_others(files, [FOUND])
    assert len(logs) == 2 * len(SENTENCES)


def test_without_such_ports_nothing_is_written() -> None:
    files = FakeFiles()
    log_ports_of_others(files, [])
    assert files.writes == []
