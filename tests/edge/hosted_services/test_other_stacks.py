"""The look at other stacks: real sockets of this host, and a tree of control groups that changes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from nodenet.edge.hosted_services.other_stacks import OtherStacks

GROUPS = 300


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
        found = [stacks._programs({1, known}) for _ in range(10)]
    finally:
        over.set()
        thread.join()
    assert found == [{known: "c"}] * 10


def test_the_name_of_a_group_writes_no_line(tmp_path: Path) -> None:
    """Users make control groups of their own below user.slice, and the name goes to the journal."""
    group = tmp_path / "user.slice" / "a\nReady\x1b[2J"
    group.mkdir(parents=True)
    number = group.stat().st_ino
    assert OtherStacks(groups=tmp_path)._programs({number}) == {number: "'a\\nReady\\x1b[2J'"}


class Counting(OtherStacks):
    """Counts the searches for the names of groups."""

    searches = 0

    def _programs(self, groups: set[int]) -> Mapping[int, str]:
        self.searches += 1
        return super()._programs(groups)


def test_hundreds_of_sockets_of_a_user_cost_one_search() -> None:
    """Each of them was looked for in the whole tree: nodenet-hosted did nothing else for minutes."""
    stacks = Counting()
    with contextlib.ExitStack() as opened:
        first = opened.enter_context(socket.create_server(("127.0.0.1", 0), reuse_port=True))
        port = first.getsockname()[1]
        for _ in range(299):
            opened.enter_context(socket.create_server(("127.0.0.1", port), reuse_port=True))
        found = stacks.look((), (port,))
    assert len(found.listeners) == 300
    assert stacks.searches == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a raw socket needs root")
def test_only_sockets_of_another_keepalived_speak_vrrp(tmp_path: Path) -> None:
    """Also while keepalived of ours runs: it has a user of its own, and no other program is one of that user's.

    A program that opens such a socket and sends nothing took the VIPs from the node, for as long as it ran.
    """
    unit = "nodenet-keepalived.service"
    (tmp_path / "groups" / "system.slice" / unit).mkdir(parents=True)
    (tmp_path / "proc" / "7").mkdir(parents=True)
    comm = tmp_path / "proc" / "7" / "comm"
    comm.write_text("python3\n")
    stacks = OtherStacks(groups=tmp_path / "groups", proc=tmp_path / "proc")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 112):
        assert stacks.look((unit,), ()).speakers == 0
        comm.write_text("keepalived\n")
        assert stacks.look((unit,), ()).speakers >= 1
    comm.unlink()
    assert stacks.look((unit,), ()).speakers == 0
