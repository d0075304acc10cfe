"""The kernel's lists of sockets that listen, and of raw sockets."""

import struct
from ipaddress import ip_address

import pytest

from nodenet.core.kernel.sock_diag import UDP, Listening, answers, is_last, question, raw_sockets

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 112: 00000000:0070 00000000:0000 07 00000000:00000000 00:00000000 00000000   998        0 4711 2 0000000000000000 0
   1: 00000000:0001 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0000000000000000 0
 short
"""


def message(port: int, group: int | None, uid: int = 0, only_ipv6: int | None = None) -> bytes:
    body = struct.pack("=BBBB", 2, 10, 0, 0) + struct.pack("!H", port) + bytes(46) + struct.pack("=12xII", uid, 0)
    body += struct.pack("=HHB3x", 5, 11, only_ipv6) if only_ipv6 is not None else b""
    body += struct.pack("=HHQ", 12, 21, group) if group is not None else b""
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


DONE = struct.pack("=IHHIIi", 20, 3, 2, 1, 0, 0)


def test_ports_and_groups_are_read_until_the_end() -> None:
    data = message(9445, 4711) + message(53, None) + DONE
    assert list(answers(data)) == [Listening(9445, 4711), Listening(53, None)]
    assert is_last(data)
    assert not is_last(message(9445, 1))


def test_the_address_of_each_family_is_read() -> None:
    v4 = message(53, 1)[:16] + b"\x02" + message(53, 1)[17:24] + bytes((127, 0, 0, 53)) + message(53, 1)[28:]
    v6 = message(53, 1)[:16] + b"\x0a" + message(53, 1)[17:24] + bytes(15) + b"\1" + message(53, 1)[40:]
    assert [str(one.address) for one in answers(v4 + v6 + DONE)] == ["127.0.0.53", "::1"]


def test_a_refusal_is_an_error() -> None:
    refused = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -1)
    with pytest.raises(OSError, match="the kernel does not list its sockets"):
        list(answers(refused))
    assert is_last(refused)


def test_the_question_has_its_length_and_names_the_port() -> None:
    """After the header of netlink, eight bytes of the request and then the source port (linux/inet_diag.h)."""
    asked = question(10, 53)
    assert struct.unpack_from("=I", asked) == (72,)
    assert len(asked) == 72
    assert struct.unpack_from("!H", asked, 24) == (53,)


def test_the_maker_of_a_socket_is_read_and_whether_it_hears_ipv4() -> None:
    data = message(5354, 1, uid=1000, only_ipv6=1) + message(5354, None, only_ipv6=0) + DONE
    assert [(one.uid, one.only_ipv6) for one in answers(data)] == [(1000, True), (0, False)]
    assert question(2, 5354, UDP)[17] == 17


@pytest.mark.parametrize(
    ("bound", "only_ipv6", "heard"),
    [
        ("127.0.0.1", False, ["127.0.0.1"]),
        ("0.0.0.0", False, ["127.0.0.1", "192.0.2.1"]),  # noqa: S104
        ("::", False, ["127.0.0.1", "192.0.2.1", "::1"]),
        ("::", True, ["::1"]),
        ("::ffff:127.0.0.1", False, ["127.0.0.1"]),
    ],
)
def test_which_addresses_a_socket_hears(bound: str, only_ipv6: bool, heard: list[str]) -> None:  # noqa: FBT001
    one = Listening(53, 1, ip_address(bound), only_ipv6=only_ipv6)
    assert [address for address in ("127.0.0.1", "192.0.2.1", "::1") if one.hears(ip_address(address))] == heard


def test_raw_sockets_of_one_protocol() -> None:
    assert raw_sockets(TABLE, 112) == {4711: 998}
    assert raw_sockets("", 112) == {}
