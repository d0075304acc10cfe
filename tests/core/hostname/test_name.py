"""Which names may a host have, and which of its sources of a name counts?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hostname import (
    Origin,
    Source,
    Verdict,
    chosen,
    judged,
    normalised,
    on_command_line,
    provenance,
    static_name,
    stems,
    why_invalid,
)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("worker-0", "worker-0"),
        ("Worker-0.Example.COM.", "worker-0.example.com"),
        (" worker-0\n", "worker-0"),
        ("mylocalhost-1", "mylocalhost-1"),
        ("a" * 63, "a" * 63),
        ("a" * 64, "a" * 63),
        ("a" * 50 + ".example.com.and-so-on", "a" * 50),
        ("a" * 62 + "-b", "a" * 62),
    ],
)
def test_a_usable_name_is_normalised_and_valid(raw: str, name: str) -> None:
    """Case, blanks and the trailing dot do not matter."""
    assert normalised(raw) == name
    assert why_invalid(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost",
        "localhost.localdomain",
        "localhost.example.com",
        "localhost4.localdomain4",
        "a" * 64,
        "..",
        "../x",
        "a/b",
        "a..b",
        "-a",
        "a b",
        "node_1",
    ],
)
def test_an_unusable_name_is_refused_with_a_reason(name: str) -> None:
    """Empty, not yet known, too long, or able to leave the directory."""
    assert why_invalid(name)


def test_the_whole_name_is_looked_for_before_the_short_one() -> None:
    """The more specific file wins."""
    assert stems("worker-0.example.com") == ("worker-0.example.com", "worker-0")
    assert stems("worker-0") == ("worker-0",)


@given(st.text(max_size=80))
def test_a_valid_name_never_leaves_a_directory(text: str) -> None:
    """Whatever a DHCP server sends."""
    name = normalised(text)
    if why_invalid(name) is None:
        assert "/" not in name
        assert all(stem not in ("", ".", "..") for stem in stems(name))


def source(origin: Origin, value: str, *, fallback: bool = False) -> Source:
    return Source(origin, "somewhere", value, fallback)


STATIC, KERNEL = source(Origin.STATIC, "kept"), source(Origin.KERNEL, "worker-0")
FQDN, SHORT = source(Origin.DHCP6_FQDN, "worker-0.example.com"), source(Origin.DHCP6_FQDN, "worker-0")


@pytest.mark.parametrize(
    ("sources", "winner"),
    [
        ((KERNEL, FQDN, STATIC), STATIC),
        ((source(Origin.STATIC, ""), KERNEL, FQDN), FQDN),
        ((KERNEL, SHORT), KERNEL),
        ((KERNEL, source(Origin.DHCP6_FQDN, "localhost.localdomain")), KERNEL),
        ((source(Origin.KERNEL, "fedora", fallback=True),), None),
        ((source(Origin.KERNEL, "localhost"), source(Origin.DHCP, "localhost")), None),
    ],
)
def test_the_name_is_chosen_by_rank_among_those_that_will_do(
    sources: tuple[Source, ...], winner: Source | None
) -> None:
    """Static, full name by DHCPv6 where a setting allows it, what is in force, a name by DHCP."""
    assert chosen(sources, dhcpv6=True) is winner


LEASED = source(Origin.DHCP, "worker-0")


@pytest.mark.parametrize(
    ("sources", "winner"),
    [
        ((source(Origin.STATIC, "localhost"), LEASED, source(Origin.KERNEL, "localhost")), LEASED),
        ((FQDN, KERNEL), None),
        ((FQDN, source(Origin.KERNEL, "other")), "other"),
        ((FQDN, LEASED, KERNEL), "worker-0"),
    ],
)
def test_a_name_by_dhcpv6_does_not_count_without_the_setting(
    sources: tuple[Source, ...], winner: Source | str | None
) -> None:
    """Neither does the present one that NetworkManager took from there."""
    found = chosen(sources)
    assert (found.value if found and isinstance(winner, str) else found) == winner


def test_where_a_name_comes_from_is_said_unless_it_is_static() -> None:
    assert provenance(STATIC, (STATIC, LEASED)) == ""
    assert provenance(KERNEL, (LEASED, KERNEL)) == "by somewhere"
    assert provenance(KERNEL, (KERNEL,)) == "not from /etc/hostname"


def test_every_source_gets_a_verdict_and_a_reason() -> None:
    """Also one that gives nothing."""
    sources = (
        STATIC,
        KERNEL,
        source(Origin.REVERSE_DNS, ""),
        source(Origin.DHCP, "localhost"),
        source(Origin.DHCP, "kept"),
    )
    told = judged(sources)
    assert [item.verdict for item in told] == [
        Verdict.SELECTED, Verdict.USABLE, Verdict.ABSENT, Verdict.REFUSED, Verdict.USABLE
    ]  # fmt: skip
    assert all(item.sentence for item in told)
    assert told[1].sentence == "static outranks it"
    assert told[4].sentence == "the same as static"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("quiet", []),
        ("quiet systemd.hostname=worker-0 ro", ["worker-0"]),
        ("ip=192.0.2.5::192.0.2.1:255.255.255.0:worker-0:eth0:none", ["worker-0"]),
        ("ip=[2001:db8::5]::[2001:db8::1]:64:worker-0:eth0:none", ["worker-0"]),
        ("ip=dhcp ip=eth0:dhcp ip=192.0.2.5::192.0.2.1:255.255.255.0::eth0:none", []),
    ],
)
def test_the_kernels_command_line_is_read(line: str, names: list[str]) -> None:
    """systemd.hostname= and the fifth field of ip=."""
    assert [found.value for found in on_command_line(line)] == names


@pytest.mark.parametrize(
    ("content", "name"), [(None, ""), (b"", ""), (b"# made by hand\n\n worker-0 \n", "worker-0"), (b"\xff", "\ufffd")]
)
def test_the_static_name_is_read_as_systemd_reads_it(content: bytes | None, name: str) -> None:
    """Comments and blanks are passed over."""
    assert static_name(content) == name
