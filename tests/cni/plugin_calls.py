"""The CNI plugin, built and called as a runtime does, and a socket that answers it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONFIG = {"cniVersion": "1.0.0", "name": "blue", "type": "bridge", "ipam": {"type": "nodenet-ipam"}}
ENVIRONMENT = {
    "CNI_CONTAINERID": "c1",
    "CNI_NETNS": "/run/netns/c1",
    "CNI_IFNAME": "net1",
    "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAME=vm",
    "CNI_PATH": "/opt/cni/bin",
}


@cache
def plugin() -> Path:
    """Return the program, built once for each state of its sources."""
    command = [sys.executable, str(ROOT / "packaging/cni/build_plugin.py")]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def call(
    verb: str, path: Path, config: object = CONFIG, **environment: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    """Call the plugin; *config* is JSON, or the bytes of its standard input."""
    given: dict[str, str | bytes] = {**ENVIRONMENT, "CNI_COMMAND": verb, "NODENET_IPAM_SOCKET": str(path)}
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    known = {os.fsencode(key): os.fsencode(value) for key, value in {**given, **environment}.items()}
    return subprocess.run([plugin()], input=text, capture_output=True, env=known, check=False, timeout=120)


@contextmanager
def service(path: Path, answer: Callable[[bytes], bytes | None]) -> Iterator[list[Any]]:
    """Answer on a socket; yield the requests. None: no answer for as long as the block lasts."""
    requests: list[Any] = []
    held: list[socket.socket] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            request = b""
            while part := connection.recv(65536):
                request += part
            requests.append(json.loads(request))
            reply = answer(request)
            if reply is None:
                held.append(connection)
                continue
            connection.sendall(reply)
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in held:
            connection.close()
        path.unlink()


def said(exit_code: int, stdout: str) -> Callable[[bytes], bytes]:
    """Return the function that answers with this code and text."""
    return lambda _: json.dumps({"exit": exit_code, "stdout": stdout}).encode()
