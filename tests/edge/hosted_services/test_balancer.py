"""A dead API server that comes into the list of a real haproxy under load costs no request, and gets none."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path, PurePath

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import haproxy
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.model import SERVER_STATES, ClusterNode, Here, Inputs, Options, Origin, Place, Role
from nodenet.core.hosted_services.plan import plan
from nodenet.core.ip import Family
from nodenet.edge.hosted_services.servers import Balancer
from nodenet.edge.hosted_services.units import ConfigurationFiles
from nodenet.hosted.reconcile import ServerStates
from nodenet.hosted.state import State
from tls_certificates import certificate

DOMAIN = "c.example.com"
NAME = f"api-int.{DOMAIN}"
ALIVE = ("127.0.0.1", "127.0.0.2")
REFUSES, OFF = "127.0.0.3", "127.0.0.4"
"""A host without a server, and one that answers nothing at all."""
PATIENCE_SECONDS = 30.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

pytestmark = pytest.mark.skipif(
    not (shutil.which("haproxy") and shutil.which("openssl")), reason="needs haproxy and openssl"
)


def free_port(*addresses: str) -> int:
    """Return a port that is free on each of *addresses*."""
    for _ in range(50):
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
            port = int(opened.enter_context(socket.create_server((addresses[0], 0))).getsockname()[1])
            for address in addresses[1:]:
                opened.enter_context(socket.create_server((address, port)))
            return port
    raise AssertionError("no port is free")


def until(look: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < end, f"waited for {what} without result"
        time.sleep(0.05)


class Servers:
    """API servers, and one host that is switched off: its queue of connections is full, so that it answers no SYN."""

    def __init__(self, directory: Path, port: int, opened: contextlib.ExitStack) -> None:
        ca, ca_key = certificate(directory, "ca", expired=False)
        made, key = certificate(directory, NAME, expired=False, signed=("-CA", ca, "-CAkey", ca_key))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(made, key)
        for address in ALIVE:
            line = opened.enter_context(socket.create_server((address, port)))
            opened.callback(line.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()
        off = opened.enter_context(socket.socket())
        off.bind((OFF, port))
        off.listen(0)
        for _ in range(4):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((OFF, port))

    def _serve(self, line: socket.socket) -> None:
        while True:
            try:
                plain, _ = line.accept()
            except OSError:  # the test is over
                return
            threading.Thread(target=self._answer, args=(plain,), daemon=True).start()

    def _answer(self, plain: socket.socket) -> None:
        plain.settimeout(PATIENCE_SECONDS)
        with contextlib.suppress(OSError), self._tls.wrap_socket(plain, server_side=True) as client:
            client.recv(4096)
            client.sendall(ANSWER)


class Client(threading.Thread):
    """Asks for /readyz ten times a second until it is stopped."""

    def __init__(self, port: int, ca: Path) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self.served, self.failed = 0, list[str]()
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.1):
            try:
                with (
                    socket.create_connection(("127.0.0.1", self._port), PATIENCE_SECONDS) as plain,
                    self._tls.wrap_socket(plain, server_hostname=NAME) as line,
                ):
                    line.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                    answered = line.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError as error:
                self.failed.append(str(error))
            else:
                self.served += answered


class Rig:
    """haproxy with the configuration of a control-plane node, whose addresses are on the loopback link."""

    def __init__(self, directory: Path, opened: contextlib.ExitStack) -> None:
        self._directory = directory
        self.port, self._api_port = free_port("127.0.0.1"), free_port(*ALIVE, REFUSES, OFF)
        Servers(directory, self._api_port, opened)
        place = Place(ip_address("127.0.0.1"), "lo", ip_network("127.0.0.0/8"))
        vips = (ip_address("127.0.0.9"),)
        options = Options("baremetal", DOMAIN, vips, api_port=self._api_port, lb_port=self.port)
        options = replace(options, ca_file=str(directory / "ca.crt"))
        self._inputs = Inputs(options, Here("m0", {Family.IPV4: place}), nodes_origin=Origin.LIVE)
        self.state = State("m0", options)
        self.take(*ALIVE)
        command = ["haproxy", "-W", "-f", str(directory / "haproxy.cfg")]
        self._program = opened.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        opened.callback(self._end)

    def _end(self) -> None:
        self._program.terminate()
        try:
            self._program.wait(PATIENCE_SECONDS)
        finally:
            self._program.kill()

    def take(self, *addresses: str) -> None:
        """Write the configuration for API servers at *addresses*."""
        nodes = tuple(ClusterNode(f"m{i}", (ip_address(one),), Role.CONTROL_PLANE) for i, one in enumerate(addresses))
        given = replace(self._inputs, nodes=nodes)
        self.state.take(Known(given))
        text = haproxy.configuration(given, plan(given).duties)
        assert text
        for path in (haproxy.SOCKET, haproxy.READY_SOCKET, haproxy.STATE_SOCKET, str(SERVER_STATES)):
            assert path in text
            text = text.replace(path, str(self._directory / Path(path).name))
        (self._directory / "haproxy.cfg").write_text(text)

    def reload(self) -> None:
        """Let haproxy read it as nodenet-hosted does."""
        files = Moved(self._directory)
        balancer = Balancer(str(self._directory / "state.sock"))
        asyncio.run(ServerStates(self.state, files, balancer).keep())
        self._program.send_signal(signal.SIGUSR2)

    def worker(self) -> str:
        """Return the process that serves now, empty while none answers."""
        found = [line for line in self._asked("show info").splitlines() if line.startswith("Pid: ")]
        return found[0] if found else ""

    def figures(self) -> dict[str, dict[str, str]]:
        """Return what haproxy says of each server; nothing while it does not answer."""
        rows = csv.DictReader(io.StringIO(self._asked("show stat").removeprefix("# ")))
        return {row["svname"]: row for row in rows if row["pxname"] == "api" and row["svname"] != "BACKEND"}

    def _asked(self, question: str) -> str:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE_SECONDS)
            line.connect(str(self._directory / "admin.sock"))
            line.sendall(f"{question}\n".encode())
            return line.makefile().read()
        return ""


class Moved:
    """The files, in the directory of a test."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        return ConfigurationFiles().write({self._directory / path.name: text for path, text in texts.items()})

    def remove(self, paths: Iterable[PurePath]) -> frozenset[PurePath]:
        return ConfigurationFiles().remove(self._directory / path.name for path in paths)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with contextlib.ExitStack() as opened:
        yield Rig(tmp_path, opened)


def is_up(row: dict[str, str]) -> bool:
    return row["status"].startswith("UP") and row["check_status"] == "L7OK"


def test_a_dead_server_that_comes_into_the_list_gets_no_request(rig: Rig, tmp_path: Path) -> None:
    """One host without a server, one that is switched off: haproxy took both for alive until their first check."""
    until(lambda: len(rig.figures()) == 2 and all(map(is_up, rig.figures().values())), "two servers")
    client = Client(rig.port, tmp_path / "ca.crt")
    client.start()
    until(lambda: client.served > 5, "the client")
    rig.take(*ALIVE, REFUSES, OFF)
    for _ in range(2):  # as servers that are new, and as servers that are known to be dead
        before, served = rig.worker(), client.served
        rig.reload()
        until(lambda: rig.worker() not in ("", before), "the new process")  # noqa: B023
        until(lambda: client.served > served + 30, "requests after the reload")  # noqa: B023
        found = rig.figures()
        assert {name: (found[name]["status"], found[name]["stot"]) for name in ("m2", "m3")} == {
            "m2": ("DOWN", "0"),
            "m3": ("DOWN", "0"),
        }
    client.stopped.set()
    client.join(PATIENCE_SECONDS)
    assert client.failed == []


async def test_a_haproxy_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"^haproxy does not answer at .*/state.sock: No such file or directory$"):
        await Balancer(str(tmp_path / "state.sock")).servers()
