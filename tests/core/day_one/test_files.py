"""Data URLs keep every byte, and a path never leaves its directory."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.day_one.trees import block
from nodenet.core.day_one.links import EARLY, refusals, refusals_below, warnings
from nodenet.core.day_one.reading import ArtefactInvalid, checked_path, from_data_url, to_data_url
from nodenet.core.day_one.rules import Found


@given(st.binary(max_size=500))
def test_content_comes_back(content: bytes) -> None:
    url = to_data_url(content)
    assert url.startswith("data:text/plain;charset=utf-8;base64,")
    assert "\n" not in url
    assert from_data_url(url, "x") == content


@pytest.mark.parametrize(
    ("url", "content"),
    [
        ("data:,a%20b%0A", b"a b\n"),
        ("data:;base64,YQ==", b"a"),
        ("data:text/plain;base64,YQ%3D%3D", b"a"),
        ("data:,", b""),
    ],
)
def test_other_spellings_are_read(url: str, content: bytes) -> None:
    assert from_data_url(url, "x") == content


@pytest.mark.parametrize("url", [None, 7, "https://example.com/x", "data:x", "data:;base64,%", "data:;base64,ä"])
def test_what_is_no_data_url_is_refused(url: object) -> None:
    with pytest.raises(ArtefactInvalid, match=r"^here "):
        from_data_url(url, "here")


@pytest.mark.parametrize("path", [None, "", "/", "etc/x", "/etc/../x", "/a\nb", 7])
def test_a_path_that_leads_elsewhere_is_refused(path: object) -> None:
    with pytest.raises(ArtefactInvalid):
        checked_path(path, "path")


def test_a_plain_path_is_taken() -> None:
    assert checked_path("/etc/nmstate/openshift/a.yml", "p") == PurePosixPath("/etc/nmstate/openshift/a.yml")
    assert checked_path("//etc//a.yml", "p") == PurePosixPath("/etc/a.yml")


# What cannot become keyfiles is refused with the way out; what may leave a host dark is a warning.


SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


def said(found: Found) -> tuple[str, str, str]:
    return found.rule.word, found.sentence(), found.remedy


def test_the_seeds_first_step_is_taken() -> None:
    document = block((SEED / "ostest-master-0.yml").read_text())
    assert [*refusals("a.yml", document), *warnings("a.yml", document)] == []


def test_the_seeds_second_step_is_refused_and_what_is_below_it_is_not() -> None:
    document = block((SEED / "br-ex" / "master-0.yml").read_text())
    assert [said(each)[1] for each in refusals("a.yml", document)] == [
        "interfaces[1]: br-ex is an ovs-bridge, and the image has no Open vSwitch",
        "interfaces[2]: br-ex is an ovs-interface, and the image has no Open vSwitch",
    ]
    assert list(refusals_below("a.yml", document)) == []


@pytest.mark.parametrize(
    ("text", "rule", "problem", "remedy"),
    [
        (
            "hostname: {config: a}\n",
            "first-step-hostname",
            "a keyfile cannot set the host name",
            f"Remove it, or leave it to the second step: {EARLY.lower()}",
        ),
        ("ovs-db: {}\n", "first-step-open-vswitch", "ovs-db needs Open vSwitch, which the image does not have", EARLY),
        (
            "interfaces: [{name: eth0, type: ethernet, state: absent}]\n",
            "first-step-absent",
            "interfaces[0]: `state: absent` of eth0 removes nothing from a new host",
            f"Remove the interface from the file. {EARLY} where the second step needs it",
        ),
        (
            "interfaces: [{name: eth0}]\n",
            "first-step-type",
            "interfaces[0]: eth0 has no type, and only the running host knows it",
            "Add `type: ethernet`, or what it is",
        ),
        (
            "interfaces: [{name: ipv0, type: ipvlan, ipvlan: {base-iface: eth0, mode: l3}}]\n",
            "first-step-type",
            "interfaces[0]: libnmstate makes a keyfile of type ipvlan that NetworkManager does not read",
            "Leave ipv0 to the second step, and give the host another link until then",
        ),
        (
            "interfaces: [{name: bond0, type: bond, copy-mac-from: eth0}]\n",
            "first-step-copy-mac-from",
            "interfaces[0].copy-mac-from = eth0: `copy-mac-from` needs the running host",
            "Write `mac-address` instead, with the address of the card",
        ),
    ],
)
def test_a_refusal_has_its_remedy(text: str, rule: str, problem: str, remedy: str) -> None:
    (found,) = refusals("a.yml", block(text))
    assert said(found) == (rule, problem, remedy)
    assert found.line == 1


def test_what_may_leave_a_host_dark_is_a_warning() -> None:
    ipv4 = "{enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}"
    static = block(f"interfaces: [{{name: eth0, type: ethernet, ipv4: {ipv4}}}]")
    assert [each.rule.word for each in warnings("a.yml", static)] == [
        "no-default-route",
        "no-dns-server",
        "kernel-order-name",
    ]
    leased = "interfaces: [{name: enp1s0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]"
    assert list(warnings("a.yml", block(leased))) == []
    by_mac = "interfaces: [{name: eth0, type: ethernet, identifier: mac-address, ipv4: {enabled: true, dhcp: true}}]"
    assert list(warnings("a.yml", block(by_mac))) == []
