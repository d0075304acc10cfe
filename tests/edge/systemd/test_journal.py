"""The journal: the bytes journald gets, what is lost when it does not read, and what stands on the console."""

import ast
import os
import pty
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path

import pytest
import structlog

from nodenet.core.messages import Message
from nodenet.edge.systemd.journal import FIELD, OWN_FIELDS, Console, Journal, configure, encoded, fields

PACKAGE = Path(__file__).parents[3] / "daemon/nodenet"


class Colour(StrEnum):
    RED = "red"


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket where journald's would be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.settimeout(5)
        yield listener


@pytest.fixture
def journal(journald: socket.socket) -> Iterator[Journal]:
    sink = configure("nodenetd", socket_path=journald.getsockname(), native=True)
    assert isinstance(sink, Journal)
    sink._console = None  # this machine's console is not ours
    yield sink
    structlog.reset_defaults()


def received(journald: socket.socket) -> dict[str, str]:
    """The next entry, read as journald reads it."""
    data, ancillary, _, _ = journald.recvmsg(1 << 20, socket.CMSG_SPACE(4))
    if ancillary:
        descriptor = struct.unpack("i", ancillary[0][2])[0]
        data = os.pread(descriptor, 1 << 24, 0)
        os.close(descriptor)
    return parsed(data)


def parsed(data: bytes) -> dict[str, str]:
    entry = {}
    while data:
        head, data = data.split(b"\n", 1)
        name, equals, value = head.partition(b"=")
        if not equals:
            length = int.from_bytes(data[:8], "little")
            value, data = data[8 : 8 + length], data[9 + length :]
        entry[name.decode()] = value.decode()
    return entry


@pytest.mark.usefixtures("journal")
def test_a_call_is_an_entry_with_fields(journald: socket.socket) -> None:
    structlog.get_logger().info(
        "Selected 192.0.2.5 on eth0",
        message=Message.NODE_IP_SELECTED,
        stage="nodeip",
        link="eth0",
        address=ip_address("192.0.2.5"),
        colour=Colour.RED,
        nothing=None,
    )
    assert received(journald) == {
        "MESSAGE": "Selected 192.0.2.5 on eth0",
        "MESSAGE_ID": Message.NODE_IP_SELECTED.value,
        "PRIORITY": "6",
        "SYSLOG_IDENTIFIER": "nodenetd",
        "STAGE": "nodeip",
        "LINK": "eth0",
        "ADDRESS": "192.0.2.5",
        "COLOUR": "red",
    }


@pytest.mark.usefixtures("journal")
def test_levels_are_priorities_and_debug_is_silent(journald: socket.socket) -> None:
    log = structlog.get_logger()
    log.debug("no")
    for level in ("info", "warning", "error", "critical"):
        log.log({"info": 20, "warning": 30, "error": 40, "critical": 50}[level], level)
    assert [received(journald)["PRIORITY"] for _ in range(4)] == ["6", "4", "3", "2"]


@pytest.mark.usefixtures("journal")
def test_several_lines_survive(journald: socket.socket) -> None:
    structlog.get_logger().error("first\nsecond", diff="a=1\n\nPRIORITY=0\n")
    entry = received(journald)
    assert (entry["MESSAGE"], entry["DIFF"], entry["PRIORITY"]) == ("first\nsecond", "a=1\n\nPRIORITY=0\n", "3")


@pytest.mark.usefixtures("journal")
def test_an_exception_brings_its_traceback(journald: socket.socket) -> None:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        structlog.get_logger().exception("broken", message=Message.INTERNAL_ERROR)
    entry = received(journald)
    assert entry["PRIORITY"] == "3"
    assert "ZeroDivisionError" in entry["EXCEPTION"]


def test_an_entry_too_large_for_a_datagram_passes(journal: Journal, journald: socket.socket) -> None:
    structlog.get_logger().info("large", document="x" * 5_000_000)
    assert len(received(journald)["DOCUMENT"]) == 5_000_000
    assert journal.dropped == 0


def test_a_journald_that_does_not_read_costs_entries_not_time(journal: Journal, journald: socket.socket) -> None:
    log = structlog.get_logger()
    for number in range(2000):
        log.info("line", number=number)
    lost = journal.dropped
    assert 0 < lost < 2000
    for _ in range(2000 - lost):
        assert "DROPPED_ENTRIES" not in received(journald)
    log.info("again")
    entry = received(journald)
    assert entry["DROPPED_ENTRIES"] == str(lost)
    assert entry["MESSAGE"] == f"again ({lost} entries before this one were lost)"
    log.info("good")
    assert received(journald)["MESSAGE"] == "good"


def test_an_absent_journald_may_come_later(tmp_path: Path) -> None:
    journal = Journal("nodenetd", str(tmp_path / "socket"))
    journal.write("info", {"event": "lost"})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "socket"))
        journal.write("info", {"event": "heard"})
        assert received(listener)["DROPPED_ENTRIES"] == "1"


@pytest.mark.parametrize("key", ["_private", "ünder", "a b", "x" * 65, "", "priority", "message_id", "1st"])
def test_an_illegal_field_name_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="cannot be a field"):
        fields("info", {"event": "x", key: "y"}, "nodenetd")


def test_every_log_call_of_the_product_has_legal_fields() -> None:
    """Since an illegal one raises, where it is written decides, not when it is first run."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("log."):
                names |= {keyword.arg for keyword in call.keywords if keyword.arg} - {"message", "exc_info"}
    assert "stage" in names
    assert {name for name in names if not FIELD.fullmatch(name.upper()) or name.upper() in OWN_FIELDS} == set()


def test_what_is_no_text_is_shown_all_the_same() -> None:
    assert encoded({"MESSAGE": "a\udcffb"}) == b"MESSAGE=a\\udcffb\n"


@pytest.fixture
def console() -> Iterator[tuple[int, str]]:
    """A terminal: the end we read and the path that is written to."""
    reader, terminal = pty.openpty()
    yield reader, os.ttyname(terminal)
    os.close(reader)
    os.close(terminal)


def test_errors_waits_and_ready_stand_on_the_console(journald: socket.socket, console: tuple[int, str]) -> None:
    reader, path = console
    terminal = Console(path)
    journal = Journal("nodenetd", journald.getsockname(), terminal)
    journal.write("info", {"event": "a good boot is quiet", "message": Message.NETWORK_UNCHANGED})
    journal.write("error", {"event": "node.yml, line 3: \x1b[2Jbad", "remedy": "Edit it", "stage": "nmstate"})
    journal.write("info", {"event": "nodeip waits: no address", "message": Message.STAGE_WAITING})
    journal.write("info", {"event": "Ready after 2.0 s", "message": Message.READY})
    shown = b""
    while shown.count(b"\n") < 3:
        shown += os.read(reader, 4096)
    assert re.sub(r"\r*\n", "\n", shown.decode()).splitlines() == [
        "nodenetd: node.yml, line 3:  [2Jbad. Edit it",
        "nodenetd: nodeip waits: no address",
        "nodenetd: Ready after 2.0 s",
    ]
    terminal.close()


def test_a_stuck_console_costs_lines_not_time(console: tuple[int, str]) -> None:
    _, path = console
    terminal = Console(path)
    for _ in range(500):
        terminal.write("x" * 200)
    assert terminal.failures > 0
    terminal.close()


def test_no_console_is_no_error(tmp_path: Path) -> None:
    terminal = Console(str(tmp_path / "console"))
    terminal.write("x")
    assert terminal.failures == 1


BY_HAND = """
import structlog
from nodenet.edge.systemd import journal
journal.configure("nodenetd")
log = structlog.get_logger()
log.info("Found it", stage="nmstate")
log.error("Bad", remedy="Edit it")
"""


def test_every_event_with_a_name_is_passed_on(journald: socket.socket) -> None:
    seen: list[Message] = []
    configure("nodenetd", socket_path=journald.getsockname(), native=True, seen=seen.append)
    log = structlog.get_logger()
    log.info("Rolled back", message=Message.ROLLED_BACK)
    log.info("Nothing special")
    structlog.reset_defaults()
    assert seen == [Message.ROLLED_BACK]


def test_by_hand_calls_are_lines_on_standard_error() -> None:
    """Whoever inherits JOURNAL_STREAM but has standard error elsewhere reads there."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JOURNAL_STREAM": "1:2"}
    command = [sys.executable, "-c", BY_HAND]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=True, text=True, env=environment)
    assert done.stderr == "nodenetd: Found it\nnodenetd: error: Bad. Edit it\n"
