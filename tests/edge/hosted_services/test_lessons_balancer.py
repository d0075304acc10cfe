"""Lessons for the load balancer: what users of such stacks have reported, against the real haproxy.

Each test names where the problem was reported in public. Times of the configuration are shortened, never its rules.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from edge.hosted_services.lesson_world import SERVERS, ApiWorld, api_world, asked, until
from nodenet.core.hosted_services.haproxy import MOST_OF_ONE, SILENT_SECONDS

SOON = ("timeout client-fin 5s\n    timeout server-fin 5s", "timeout client-fin 1s\n    timeout server-fin 1s")
SILENT = (f"inspect-delay {SILENT_SECONDS}s", "inspect-delay 1s")


def ends(line: socket.socket, seconds: float) -> bool:
    """Return whether the other side ends a connection in time."""
    line.settimeout(seconds)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_client_that_says_nothing_is_cut_off(tmp_path: Path) -> None:
    """Silent connections, which need no credentials, filled the table for a day (OCPBUGS-62232)."""
    with api_world(tmp_path, SILENT, idle=30) as world:
        lines = world.connect(50)
        assert all(ends(line, 5) for line in lines)
        until(lambda: world.connections() == 0, "haproxy forgets them", 5)


def test_a_connection_that_the_server_has_closed_does_not_stay(tmp_path: Path) -> None:
    """Abandoned connections stayed until the limit was reached (OCPBUGS-62232, machine-config-operator#5310)."""
    with api_world(tmp_path, SOON) as world:
        lines = world.connect(50)
        for line in lines:
            line.sendall(b"\x16\x03\x01")  # a handshake that goes no further: the server gives up, the client stays
        until(lambda: world.connections() >= 50, "the connections")
        until(lambda: world.connections() == 0, "abandoned connections end", 12)


def test_no_host_alone_takes_all_connections(tmp_path: Path) -> None:
    """One host opens connections faster than they time out (OCPBUGS-62232)."""
    limit = (f"sc0_conn_cur gt {MOST_OF_ONE}", "sc0_conn_cur gt 20")
    with api_world(tmp_path, limit) as world:
        with suppress(OSError):
            world.connect(60)
        until(lambda: 0 < world.connections() <= 21, "the others are refused", 5)
        assert world.ask(source="127.0.0.2") in SERVERS


def test_slow_api_servers_are_not_dead(tmp_path: Path) -> None:
    """/readyz of all servers took longer than two seconds (OCPBUGS-1257, machine-config-operator#3339, #3357)."""
    with api_world(tmp_path) as world:
        world.readyz(200, 2.3)
        until_time = time.monotonic() + 9
        answered = Counter[str]()
        while time.monotonic() < until_time:
            answered[world.ask()] += 1
            time.sleep(0.1)
        assert set(answered) == set(SERVERS), "and the load stays on all of them"
        assert world.up() == set(SERVERS)


def test_without_a_server_that_is_believed_all_are_asked(tmp_path: Path) -> None:
    """All /readyz fail at once, and the servers still serve (machine-config-operator#3158)."""
    with api_world(tmp_path) as world:
        world.readyz(500)
        until(lambda: world.up() == set(), "no server is believed")
        assert {world.ask() for _ in range(12)} == set(SERVERS)
        world.servers[SERVERS[0]].kill()
        world.servers[SERVERS[0]].wait()
        assert {world.ask() for _ in range(12)} == set(SERVERS[1:]), "a dead one costs no request"


def test_another_ca_is_another_text_and_a_reload_heals(tmp_path: Path) -> None:
    """After a rotation it believed no server, for good: it reads a CA at its start (manual of haproxy, ``ca-file``)."""
    with api_world(tmp_path) as world:
        world.rotate()
        (tmp_path / "bundle").write_bytes(world.ca.read_bytes())
        until(lambda: world.up() == set(), "haproxy has the old CA")
        assert world.text("digest of the new one") != world.text()
        world.reload("digest of the new one")
        until(lambda: world.up() == set(SERVERS), "the servers are believed again")


def test_the_clients_of_a_server_that_lost_its_power_are_let_go(tmp_path: Path) -> None:
    """They stayed attached without a byte and without a reset (machine-config-operator#6400)."""
    with api_world(tmp_path) as world:
        lines: dict[str, ssl.SSLSocket] = {}
        while SERVERS[1] not in lines:
            line = world.talk(world.connect()[0])
            lines[asked(line)] = line
        cut_off(world, SERVERS[1])
        victim = lines[SERVERS[1]]
        victim.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        assert ends(victim, 12)
        assert {world.ask() for _ in range(8)} == {SERVERS[0], SERVERS[2]}


def cut_off(world: ApiWorld, address: str) -> None:
    """Let no packet to or from a server pass: its power is gone."""
    rules = f"ip daddr {address} drop\nip saddr {address} drop\n"
    text = f"table inet cut {{\nchain in {{\ntype filter hook input priority 0\n{rules}}}\n}}\n"
    subprocess.run([*world.space._prefix, "nft", "-f", "-"], input=text, text=True, check=True)
