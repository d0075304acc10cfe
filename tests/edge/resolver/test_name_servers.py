"""Questions to DNS servers whose answers are looked for later, against real sockets on the loopback."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from nodenet.edge.resolver import NameServers

LOOPBACK, OTHER = ip_address("127.0.0.1"), ip_address("127.0.0.9")
NO_ROUTE = ip_address("2001:db8::53")
REST = b"\x81\x80" + bytes(8)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((str(LOOPBACK), 0))
        made.settimeout(5)
        yield made


def test_an_answer_waits_until_it_is_looked_for(server: socket.socket) -> None:
    """Of each server, whether or not another one has a port or a route."""
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK, OTHER, NO_ROUTE])
    question, sender = server.recvfrom(512)
    server.sendto(b"no answer", sender)
    server.sendto(question[:2] + REST, sender)
    assert servers.answered() == {LOOPBACK}
    assert servers.answered() == frozenset(), "an answer counts once"


def test_an_answer_to_an_earlier_question_is_lost(server: socket.socket) -> None:
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK])
    question, sender = server.recvfrom(512)
    servers.ask([LOOPBACK])
    server.sendto(question[:2] + REST, sender)
    assert servers.answered() == frozenset()


def test_a_server_that_no_socket_can_be_made_for_does_not_answer() -> None:
    """As for an IPv6 one on a kernel with `ipv6.disable=1`: it must not end the watch of the uplink."""
    servers, (soft, hard) = NameServers(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        servers.ask([LOOPBACK])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert servers.answered() == frozenset()


def test_no_socket_is_left_open(server: socket.socket) -> None:
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK, OTHER])
    servers.close()
    assert servers.answered() == frozenset()
