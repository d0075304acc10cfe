"""Which missing links a node file waits for."""

from __future__ import annotations

import pytest

from nodenet.core.apply.missing_links import missing, missing_bases, reason
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.links import Links

FILE = Links(awaited=frozenset({"eth0", "eth9"}))
GONE = NmstateFailure(FailureKind.INVALID, "Interface eth9 does not exist")


def test_a_link_that_the_kernel_does_not_have_and_libnmstate_names() -> None:
    assert missing(FILE, {"eth0", "lo"}, GONE) == {"eth9"}


def test_every_missing_link_is_waited_for_where_libnmstate_names_one() -> None:
    assert missing(FILE, {"lo"}, GONE) == {"eth0", "eth9"}


def test_a_name_that_was_translated_is_in_the_words_of_libnmstate() -> None:
    translated = NmstateFailure(FailureKind.INVALID, "this host has no such link", said=GONE.cause)
    assert missing(FILE, {"eth0"}, translated) == {"eth9"}


@pytest.mark.parametrize(
    ("present", "failure"),
    [
        ({"eth0", "eth9"}, GONE),  # by another name of the link, as an altname
        ({"eth0"}, NmstateFailure(FailureKind.INVALID, "eth0: unknown key mtuu")),
        ({"eth0"}, NmstateFailure(FailureKind.INVALID, "Interface eth99 does not exist")),
        ({"eth0"}, NmstateFailure(FailureKind.VERIFICATION, "eth9 is not there")),
    ],
)
def test_nothing_else_is_waited_for(present: set[str], failure: NmstateFailure) -> None:
    """A file that is wrong in another way is refused at once."""
    assert missing(FILE, present, failure) == frozenset()


def test_the_link_below_a_vlan_is_missed_before_the_apply() -> None:
    """Libnmstate would make profiles that NetworkManager cannot activate."""
    assert missing_bases(Links(bases=frozenset({"eth0", "eth9"})), {"eth0", "lo"}) == {"eth9"}


def test_the_reason_names_link_and_file() -> None:
    assert reason("worker-0.yml", {"eth9"}) == "the link eth9 of worker-0.yml, which udev may still bring"
    assert reason("cluster.yml", {"b", "a"}) == "the links a, b of cluster.yml, which udev may still bring"
