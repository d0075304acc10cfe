"""haproxy's state file: what is new or dead begins as stopped, and never all of it."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.haproxy import Server, alive, render_states

REST = "0 1 1 9 6 3 4 6 0 0 0 - 6443 - 0 0 - - 0"
ANSWER = f"""1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state
3 api 1 m0 192.0.2.10 2 {REST}
3 api 2 m1 2001:db8::11 0 {REST}
3 api 3 m2 192.0.2.12 1 {REST}

"""
M0, M1, M2 = (("m0", ip_address("192.0.2.10")), ("m1", ip_address("2001:db8::11")), ("m2", ip_address("192.0.2.12")))
MOVED = ("m0", ip_address("192.0.2.99"))


def test_what_haproxy_says_of_its_servers() -> None:
    assert alive(ANSWER) == {M0: True, M1: False, M2: True}


@pytest.mark.parametrize("answer", ["", "Permission denied\n", "3 api 1 m0 host 2 " + REST, "3 api 1 m0 192.0.2.10 2"])
def test_what_cannot_be_understood_is_left_out(answer: str) -> None:
    assert alive(answer) == {}


@given(st.text())
def test_any_answer_is_taken(answer: str) -> None:
    alive(answer)


@pytest.mark.parametrize(
    ("servers", "stopped"),
    [
        ((M0, M2), ()),
        ((M0, M1, M2), ("m1",)),
        ((M2, MOVED), ("m0",)),
        ((M1, MOVED), ()),
        ((M1,), ()),
    ],
    ids=["alive", "dead", "at another address", "none is known to be alive", "the only one"],
)
def test_which_servers_begin_as_stopped(servers: tuple[Server, ...], stopped: tuple[str, ...]) -> None:
    first, *lines = render_states(servers, alive(ANSWER), 6443).splitlines()
    assert first == "1"
    assert tuple(line.split()[3] for line in lines) == stopped
    assert all(len(line.split()) == 20 and line.split()[18] == "6443" for line in lines)


def test_without_an_answer_all_begin_as_alive() -> None:
    assert render_states((M0, M1), {}, 6443) == "1\n"
