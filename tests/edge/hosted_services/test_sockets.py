"""Sockets that wait for clients: real ones of this host."""

from __future__ import annotations

import os
import socket

import pytest

from nodenet.core.kernel.sock_diag import TCP
from nodenet.edge.hosted_services.other_stacks import OtherStacks, Sockets, waiting

STRANGER = 65533


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_only_the_sockets_on_the_ports_in_question_are_listed() -> None:
    """Any user may have thousands on other ports: the look met a refusal of the kernel's, and DNS was left alone."""
    with listening() as one, listening() as two, listening():
        ports = [server.getsockname()[1] for server in (one, two)]
        assert sorted(found.port for found in waiting(TCP, ports)) == sorted(ports)
        assert [str(found.address) for found in waiting(TCP, ports[:1])] == ["127.0.0.1"]
        assert list(waiting(TCP, ())) == []


def test_udp_sockets_have_their_makers_and_those_with_a_peer_are_left_out() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        (found,) = Sockets().udp((port,))
        assert (str(found.address), found.uid, found.only_ipv6) == ("127.0.0.1", os.getuid(), False)
        assert Sockets().udp((client.getsockname()[1],)) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's socket needs root")
def test_the_socket_of_another_user_beside_one_of_root_is_seen() -> None:
    """Both may be bound where both have SO_REUSEADDR: the last one gets the questions (socket(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(("127.0.0.1", 0))
        port = ours.getsockname()[1]
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(STRANGER)
            theirs = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            theirs.bind(("127.0.0.1", port))
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        try:
            assert {one.uid for one in Sockets().udp((port,))} == {0, STRANGER}
        finally:
            os.write(done[1], b"x")
            os.waitpid(child, 0)


def test_a_server_of_dns_by_udp_alone_is_seen_on_dns_s_own_port_only() -> None:
    """On a port above 1023 any user may have one, and it is in no way of a balancer by TCP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        assert OtherStacks().look((), (server.getsockname()[1],)).listeners == ()
