"""Which node IP may be asked for, and what does a hint say?"""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import Family
from nodenet.core.node_ip.policy import Policy, parse_environment, parse_value

V4, V6 = Family.IPV4, Family.IPV6


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (Policy(), (V4, V6)),
        (Policy(prefer_ipv6=True), (V6, V4)),
        (Policy(families=(V6,)), (V6,)),
        (Policy(families=(V6, V4), prefer_ipv6=False), (V6, V4)),
    ],
)
def test_the_settings_outrank_the_preference(policy: Policy, order: tuple[Family, ...]) -> None:
    assert policy.family_order == order


def test_every_vip_counts() -> None:
    api, ingress = ip_address("192.0.2.2"), ip_address("192.0.2.3")
    assert Policy(api_vips=(api,), ingress_vips=(ingress,)).vips == (api, ingress)


FILE = "/etc/default/nodeip-configuration"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("192.0.2.5", ip_address("192.0.2.5")),
        ("2001:db8::5", ip_address("2001:db8::5")),
        ("::ffff:192.0.2.5", ip_address("192.0.2.5")),
        ("192.0.2.0/24", ip_network("192.0.2.0/24")),
        ("192.0.2.5/24", ip_network("192.0.2.0/24")),
        ("2001:db8::/32", ip_network("2001:db8::/32")),
        ("eth0", "eth0"),
        ("br-ex", "br-ex"),
        ("enp3s0f1.100", "enp3s0f1.100"),
    ],
)
def test_a_word_is_an_address_a_prefix_or_a_link(text: str, meaning: object) -> None:
    reading = parse_value(text, "here")
    assert [hint.meaning for hint in reading.hints] == [meaning]
    assert not reading.problems


@pytest.mark.parametrize(
    "word", ["192.0.2", "192.0.2.300", "192.0.2.0/33", "2001:db8:::1", "fe80::1%eth0", "a/b", "x" * 128]
)
def test_what_is_none_of_them_is_a_problem(word: str) -> None:
    reading = parse_value(f"{word} eth0", "the setting `hint`")
    assert [hint.text for hint in reading.hints] == ["eth0"]
    (problem,) = reading.problems
    assert problem.cause.startswith(f"the setting `hint`: '{word}' is not a valid node IP hint: ")
    assert problem.exit_code == 78


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("", []),
        ("# NODEIP_HINT=192.0.2.1\n; NODEIP_HINT=192.0.2.2\n", []),
        ("NODEIP_HINT=192.0.2.5\n", ["192.0.2.5"]),
        ("KUBELET_NODEIP_HINT=192.0.2.5", ["192.0.2.5"]),
        ("KUBELET_NODEIP_HINT=192.0.2.5\nNODEIP_HINT=eth1\n", ["eth1"]),
        ("NODEIP_HINT=\nKUBELET_NODEIP_HINT=eth1\n", ["eth1"]),
        ('NODEIP_HINT="192.0.2.5 2001:db8::5"\n', ["192.0.2.5", "2001:db8::5"]),
        ("NODEIP_HINT='eth1,eth0'\r\n", ["eth1", "eth0"]),
        ("NODEIP_HINT=eth0\nNODEIP_HINT=eth1\n", ["eth1"]),
        ("export NODEIP_HINT=eth0\n", ["eth0"]),
        ("NODEIP_HINT=eth0 \\\n  eth1\n", ["eth0", "eth1"]),
        ("OTHER=1\nKUBELET_NODE_IP=192.0.2.5\nENABLE_NODEIP_DEBUG=true\n", []),
    ],
)
def test_an_environment_file_is_read_as_systemd_reads_it(text: str, hints: list[str]) -> None:
    reading = parse_environment(text, FILE)
    assert [hint.text for hint in reading.hints] == hints
    assert not reading.problems


def test_a_hint_knows_its_file_and_line() -> None:
    (hint,) = parse_environment("# mine\n\nNODEIP_HINT=eth1\n", FILE).hints
    assert str(hint) == f"hint eth1 ({FILE}, line 3)"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("NODEIP_HINT=192.0.2", "line 2: '192.0.2' is not a valid node IP hint"),
        ("NODEIP_HINT", "line 2: there is no = in 'NODEIP_HINT'"),
        ("192.0.2.5", "line 2: there is no = in '192.0.2.5'"),
        ("NODEIP_HNT=192.0.2.5", "line 2: Unknown variable NODEIP_HNT"),
        ("NODEIP_HINTS=eth0", "line 2: Unknown variable NODEIP_HINTS"),
        ("export NODE_IP_HINT=192.0.2.5", "line 2: Unknown variable NODE_IP_HINT"),
        ('NODEIP_HINT="eth0', 'line 2: NODEIP_HINT: the quote " is not closed'),
    ],
)
def test_a_mistake_names_file_and_line(line: str, words: str) -> None:
    reading = parse_environment(f"# first\n{line}\n", FILE)
    assert not reading.hints
    assert reading.problems[0].cause.startswith(f"{FILE}, {words}")


@given(st.text())
def test_any_file_is_read(text: str) -> None:
    parse_environment(text, FILE)
    parse_environment(f"NODEIP_HINT={text}", FILE)
