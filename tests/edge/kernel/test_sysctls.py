"""The settings of links, in a namespace of the test's own: writing there changes nothing here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from edge.namespace import Namespace
from nodenet.core.errors import Unavailable
from nodenet.edge.kernel.netlink import Sysctls

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
FORWARDING = "net/ipv4/conf/forwarding"
ACCEPT_RA = "net/ipv6/conf/accept_ra"
LINK = "b0.354"


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    made = Namespace()
    made.ip(f"link add {LINK} type veth peer name b1")
    yield made
    made.close()


def of_link(namespace: Namespace, link: str) -> dict[str, str]:
    return namespace.call(lambda: Sysctls().of_link(link))


def test_a_link_with_a_dot_in_its_name(namespace: Namespace) -> None:
    """What differs is written, what does not is left alone, and only of this link."""
    before = of_link(namespace, LINK)
    assert before[FORWARDING] == "0"
    wanted = {FORWARDING: "1", ACCEPT_RA: "2"}
    assert namespace.call(lambda: Sysctls().write(LINK, wanted)) == (FORWARDING, ACCEPT_RA)
    assert namespace.call(lambda: Sysctls().write(LINK, wanted)) == ()
    assert of_link(namespace, LINK) == {**before, **wanted}
    assert of_link(namespace, "b1") == before


def test_what_new_links_begin_with(namespace: Namespace) -> None:
    """A link that nobody has touched has the values of `default`."""
    untouched = of_link(namespace, "b1")
    differing = dict(of_link(namespace, "default").items() - untouched.items())
    assert set(differing) <= {"net/ipv6/conf/mtu"}


def test_no_secret_is_read(namespace: Namespace) -> None:
    """From which stable addresses are made: facts are shown to people."""
    namespace.call(lambda: Path("/proc/sys/net/ipv6/conf/b1/stable_secret").write_text("2001:db8::5ec"))
    assert [name for name, value in of_link(namespace, "b1").items() if "5ec" in value] == []


def test_a_link_that_is_gone(namespace: Namespace) -> None:
    """Has no settings, and takes none."""
    assert of_link(namespace, "nosuch") == {}
    with pytest.raises(Unavailable, match="/proc/sys/net/ipv4/conf/nosuch/forwarding cannot be set to 1: No such file"):
        namespace.call(lambda: Sysctls().write("nosuch", {FORWARDING: "1"}))


def test_a_value_that_the_kernel_refuses(namespace: Namespace) -> None:
    """Is named with its file."""
    with pytest.raises(Unavailable, match="accept_ra cannot be set to many"):
        namespace.call(lambda: Sysctls().write(LINK, {ACCEPT_RA: "many"}))


@pytest.mark.parametrize(("name", "link"), [("kernel/panic", "b1"), (FORWARDING, "../all"), ("net/ipv4/conf/..", "b1")])
def test_nothing_else_is_reached(name: str, link: str) -> None:
    with pytest.raises(ValueError, match="no setting of a link"):
        Sysctls().write(link, {name: "1"})
