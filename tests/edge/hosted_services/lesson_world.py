"""The real programs with nodenet's own configurations, in network namespaces: what the lessons are tested with."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from edge.namespace import Namespace
from nodenet.core.hosted_services import haproxy
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Place, Role, Service
from nodenet.core.hosted_services.plan import plan
from nodenet.core.ip import Family
from nodenet.core.settings.model import Enabled
from tls_certificates import certificate

NAME = "api-int.c1.example.com"
SERVERS = ("127.0.1.21", "127.0.1.22", "127.0.1.23")
PORT = 9445
PATIENCE = 20.0
API_SERVER = """
import http.server, pathlib, ssl, sys, time
address, directory = sys.argv[1], pathlib.Path(sys.argv[2])
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        switch = directory / "readyz"
        word = switch.read_text() if switch.exists() and self.path == "/readyz" else "200 0"
        status, seconds = word.split()
        time.sleep(float(seconds))
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(address)))
        self.end_headers()
        self.wfile.write(address.encode())
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 500
    def get_request(self):
        line, sender = super().get_request()
        line.settimeout(float(sys.argv[5]))
        return line, sender
server = Server((address, 6443), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(sys.argv[3], sys.argv[4])
server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
"""


def need(*programs: str) -> None:
    """Skip where root or a program is missing."""
    if os.geteuid() != 0 or not all(map(shutil.which, (*programs, "unshare", "nsenter", "ip"))):
        pytest.skip(f"needs root and {', '.join(programs)}")


def until(look: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until *look* is true."""
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def end(program: subprocess.Popen[bytes]) -> None:
    program.kill()
    program.wait()


class ApiWorld:
    """Three API servers and nodenet's haproxy in one namespace."""

    def __init__(self, directory: Path, changes: Collection[tuple[str, str]], idle: float) -> None:
        """*changes* are made in haproxy's text, so that no test waits for as long as a cluster does.

        *idle*: after so many seconds of silence an API server closes a connection.
        """
        self.idle = idle
        self.directory = directory
        self.space = Namespace()
        self.space.ip("link set lo up")
        self.space.ip("address add 127.0.0.2/8 dev lo")
        self.ca, self.key = certificate(directory, "ca", expired=False)
        self.changes = tuple(changes)
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        self.program: subprocess.Popen[bytes] | None = None
        self._opened = ExitStack()

    def start_servers(self) -> None:
        """Start the API servers, with certificates of the present CA."""
        made, key = certificate(self.directory, NAME, expired=False, signed=("-CA", self.ca, "-CAkey", self.key))
        for address in SERVERS:
            if address in self.servers:
                end(self.servers[address])
            script = [sys.executable, "-c", API_SERVER, address, str(self.directory), str(made), str(key)]
            script.append(str(self.idle))
            self.servers[address] = subprocess.Popen([*self.space._prefix, *script])

    def rotate(self) -> None:
        """Make another CA and give each API server a certificate of it."""
        other = self.directory / "other"
        other.mkdir()
        self.ca, self.key = certificate(other, "ca", expired=False)
        self.start_servers()

    def readyz(self, status: int, seconds: float = 0.0) -> None:
        """Let each API server answer so at /readyz; other paths answer at once."""
        (self.directory / "readyz").write_text(f"{status} {seconds}")

    def text(self, authority: str = "") -> str:
        """Return nodenet's configuration for these servers."""
        nodes = tuple(ClusterNode(f"m{n}", (ip_address(one),), Role.CONTROL_PLANE) for n, one in enumerate(SERVERS))
        place = Place(ip_address(SERVERS[0]), "lo", ip_network("127.0.0.0/8"))
        options = Options(
            "baremetal", "c1.example.com", (ip_address("127.0.0.50"),), ca_file=str(self.directory / "bundle")
        )
        inputs = Inputs(options, Here("m0", {Family.IPV4: place}), nodes=nodes, authority=authority)
        made = plan(inputs).texts[Service.HAPROXY]
        for path in (haproxy.SOCKET, haproxy.READY_SOCKET, haproxy.STATE_SOCKET):
            made = made.replace(path, str(self.directory / Path(path).name))
        for before, after in self.changes:
            assert before in made, before
            made = made.replace(before, after)
        return made

    def start(self) -> None:
        """Start haproxy, and wait until it believes all servers."""
        (self.directory / "bundle").write_bytes(self.ca.read_bytes())
        path = self.directory / "haproxy.cfg"
        path.write_text(self.text())
        command = [*self.space._prefix, "haproxy", "-Ws", "-f", str(path)]
        self.program = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until(lambda: self.up() == set(SERVERS), "all servers are believed")
        time.sleep(1.5)  # a server that haproxy has just begun with is up until its first check

    def reload(self, authority: str) -> None:
        """Write the text of another CA and reload, as nodenet-hosted and the unit do."""
        (self.directory / "haproxy.cfg").write_text(self.text(authority))
        assert self.program is not None
        self.program.send_signal(signal.SIGUSR2)

    def up(self) -> set[str]:
        """Return the servers that haproxy believes."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5)
            line.connect(str(self.directory / "state.sock"))
            line.sendall(b"show servers state api\n")
            found = b""
            while more := line.recv(65536):
                found += more
            rows = [row.split() for row in found.decode().splitlines()[2:] if row]
            return {row[4] for row in rows if row[5] != "0"}
        return set()

    def connections(self) -> int:
        """Return how many connections of clients haproxy has."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.directory / "state.sock"))
            line.sendall(b"show stat\n")
            found = b""
            while more := line.recv(65536):
                found += more
        head, *rows = found.decode().lstrip("# ").splitlines()
        place = head.split(",").index("scur")
        return sum(int(row.split(",")[place]) for row in rows if row.startswith("clients,FRONTEND"))

    def connect(self, count: int = 1, source: str = "127.0.0.1") -> list[socket.socket]:
        """Return connections to haproxy from *source* that say nothing."""

        def made() -> list[socket.socket]:
            lines = (socket.create_connection(("127.0.0.1", PORT), 5, (source, 0)) for _ in range(count))
            return [self._opened.enter_context(line) for line in lines]

        return self.space.call(made)

    def talk(self, line: socket.socket) -> ssl.SSLSocket:
        """Return a connection after a TLS handshake with an API server."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return self._opened.enter_context(context.wrap_socket(line, server_hostname=NAME))

    def ask(self, source: str = "127.0.0.1") -> str:
        """Ask an API server through haproxy; return its address. Raises OSError."""
        with self.talk(self.connect(source=source)[0]) as line:
            return asked(line)

    def close(self) -> None:
        self._opened.close()
        for program in (self.program, *self.servers.values()):
            if program is not None:
                end(program)
        self.space.close()


def asked(line: ssl.SSLSocket) -> str:
    """Ask for something on a connection, and return which server answered. Raises OSError."""
    line.settimeout(10)
    line.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
    found = b""
    while b"\r\n\r\n127." not in found:
        more = line.recv(4096)
        if not more:
            raise ConnectionError(f"the connection ended after {found!r}")
        found += more
    return found.partition(b"\r\n\r\n")[2].decode()


@contextmanager
def api_world(directory: Path, *changes: tuple[str, str], idle: float = 2) -> Iterator[ApiWorld]:
    """Yield a world whose servers are all believed."""
    need("haproxy", "openssl")
    with closing(ApiWorld(directory, changes, idle)) as world:
        world.start_servers()
        world.start()
        yield world


def cluster(count: int, *, vips: Collection[str] = ("192.0.2.2",), platform: str = "baremetal") -> list[Inputs]:
    """Return the inputs of control-plane nodes on one link, each as its own node sees it."""
    families = {ip_address(vip).version for vip in vips}
    networks = {Family.IPV4: ip_network("192.0.2.0/24"), Family.IPV6: ip_network("2001:db8::/64")}
    used = {family: network for family, network in networks.items() if network.version in families}
    options = Options(platform, "c1.example.com", tuple(map(ip_address, vips)), enabled=Enabled.YES)
    nodes = tuple(
        ClusterNode(f"m{number}", tuple(network[11 + number] for network in used.values()), Role.CONTROL_PLANE)
        for number in range(count)
    )
    made = Inputs(options, Here(""), nodes=nodes)
    return [
        replace(
            made,
            here=Here(
                f"m{number}",
                {family: Place(network[11 + number], "eth0", network) for family, network in used.items()},
            ),
        )
        for number in range(count)
    ]
