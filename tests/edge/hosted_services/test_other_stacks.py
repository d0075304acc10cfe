"""The look at other stacks: real sockets of this host, and a tree of control groups that changes."""

from __future__ import annotations

import shutil
import socket
import threading
from pathlib import Path

from nodenet.edge.hosted_services.other_stacks import OtherStacks, _listening

GROUPS = 300


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_only_the_sockets_on_the_ports_in_question_are_listed() -> None:
    """Any user may have thousands on other ports: the look met a refusal of the kernel's, and DNS was left alone."""
    with listening() as one, listening() as two, listening():
        ports = [server.getsockname()[1] for server in (one, two)]
        assert sorted(found.port for found in _listening(ports)) == sorted(ports)
        assert [str(found.address) for found in _listening(ports[:1])] == ["127.0.0.1"]
        assert list(_listening(())) == []


def test_groups_that_come_and_go_end_no_look(tmp_path: Path) -> None:
    """A pod that ends removes its control groups; a listing of them in that moment raised FileNotFoundError."""

    def make() -> None:
        for number in range(0, GROUPS, 3):
            (tmp_path / f"a.slice/b{number}/c/d").mkdir(parents=True, exist_ok=True)

    for number in range(GROUPS):
        (tmp_path / f"a.slice/b{number}/c/d").mkdir(parents=True)
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            for number in range(0, GROUPS, 3):
                shutil.rmtree(tmp_path / f"a.slice/b{number}")
            make()

    stacks = OtherStacks(groups=tmp_path)
    known = (tmp_path / "a.slice/b1/c").stat().st_ino
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        found = {stacks._program(each) for each in (1, known) * 10}
    finally:
        over.set()
        thread.join()
    assert found == {"", "c"}


def test_the_name_of_a_group_writes_no_line(tmp_path: Path) -> None:
    """Users make control groups of their own below user.slice, and the name goes to the journal."""
    group = tmp_path / "user.slice" / "a\nReady\x1b[2J"
    group.mkdir(parents=True)
    assert OtherStacks(groups=tmp_path)._program(group.stat().st_ino) == "'a\\nReady\\x1b[2J'"
