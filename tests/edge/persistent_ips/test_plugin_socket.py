"""The socket of the plugin against real clients: one request, one answer, root only, everything bounded."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from nodenet.core.errors import AlreadyRunning, PublishFailed
from nodenet.core.persistent_ips.cni import MOST_BYTES
from nodenet.edge.persistent_ips import plugin_socket
from nodenet.edge.persistent_ips.plugin_socket import PluginSocket


async def echo(document: object) -> dict[str, object]:
    return {"exit": 0, "stdout": json.dumps(document)}


async def asked(path: Path, content: bytes, *, end: bool = True) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(content)
        if end:
            writer.write_eof()
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.close()


def served(path: Path, work: Callable[[], Coroutine[Any, Any, None]], uid: int = os.geteuid()) -> None:
    async def run() -> None:
        listening = PluginSocket(path, echo, uid=uid)
        await listening.start()
        try:
            await work()
        finally:
            await listening.close()

    asyncio.run(run())


def test_one_request_and_one_answer(tmp_path: Path) -> None:
    path = tmp_path / "run" / "ipam.sock"

    async def work() -> None:
        assert path.stat().st_mode & 0o777 == 0o600
        answer = json.loads(await asked(path, b'{"version": 1}'))
        assert answer == {"exit": 0, "stdout": '{"version": 1}'}
        for nonsense in (b"", b"{", b"[" * 100_000, b"\xff\xfe"):
            assert json.loads(await asked(path, nonsense)) == {"exit": 0, "stdout": "null"}

    served(path, work)
    assert not path.exists()


def test_what_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sock"

    async def work() -> None:
        long = json.dumps("x" * (MOST_BYTES - 2)).encode()
        assert len(json.loads(json.loads(await asked(path, long))["stdout"])) == MOST_BYTES - 2
        answer = await asked(path, long + b" ")
        assert answer in (b'{"exit": 0, "stdout": "null"}', b"")  # the client may still be writing

    served(path, work)


def test_only_the_given_user_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sock"

    async def work() -> None:
        assert await asked(path, b"{}") == b""

    served(path, work, uid=os.geteuid() + 1)


def test_an_old_socket_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sock"
    old = socket.socket(socket.AF_UNIX)
    old.bind(str(path))
    old.close()

    async def work() -> None:
        with pytest.raises(AlreadyRunning, match=f"Another service listens on {path}"):
            await PluginSocket(path, echo).start()
        assert await asked(path, b"{}")

    served(path, work)


def test_a_directory_in_its_place_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sock"
    path.mkdir()

    async def work() -> None:
        raise AssertionError

    with pytest.raises(PublishFailed, match=f"The socket {path} cannot be made: Is a directory"):
        served(path, work)


def test_many_clients_that_say_nothing_do_not_keep_others_out(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sock"

    async def work() -> None:
        silent = [await asyncio.open_unix_connection(str(path)) for _ in range(200)]
        assert await asked(path, b"{}")
        for _, writer in silent:
            writer.close()

    served(path, work)
    assert plugin_socket.MOST_CONNECTIONS > 200


def test_a_namespace_that_is_gone(tmp_path: Path) -> None:
    assert plugin_socket.is_gone(str(tmp_path / "netns"))
    assert not plugin_socket.is_gone(str(tmp_path))
    assert not plugin_socket.is_gone("")
    assert not plugin_socket.is_gone("none")
    (tmp_path / "file").write_text("")
    assert plugin_socket.is_gone(str(tmp_path / "file" / "netns"))
