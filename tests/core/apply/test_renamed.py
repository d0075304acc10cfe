"""Which NICs of a node file have another name now, by their permanent MACs."""

from __future__ import annotations

import pytest

from nodenet.core.apply.renamed import block, cause, macs_of, moves, remedy, renamed
from nodenet.core.kernel.snapshot import Link
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.node_file.links import Links

ONE, TWO, THREE = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"
FILE = Links(existing=frozenset({"a", "b"}), awaited=frozenset({"a", "b"}))
WORKED = {"a": ONE, "b": TWO}


def links(**macs: str) -> tuple[Link, ...]:
    """Return NICs by name and MAC."""
    return tuple(Link(index, name, mac=mac) for index, (name, mac) in enumerate(macs.items(), 2))


@pytest.mark.parametrize(
    ("present", "found"),
    [
        (links(a=ONE, b=TWO), {}),
        (links(x=ONE, b=TWO), {"a": "x"}),
        (links(b=ONE, a=TWO), {"a": "b", "b": "a"}),
        (links(b=ONE, c=TWO), {"a": "b", "b": "c"}),
        (links(x=ONE, a=THREE, b=TWO), {"a": "x"}),  # a new NIC has got the name
        (links(a=THREE, b=TWO), {}),  # the NIC was replaced
        (links(b=TWO), {}),
        (links(b=ONE), {}),  # what the file calls b is gone: it would mean both
        (links(x=ONE, y=ONE, b=TWO), {}),  # two NICs say that they have the MAC
        ((Link(2, "x", ("a",), mac=ONE), *links(b=TWO)), {}),
        ((Link(2, "x", mac=THREE, permanent_mac=ONE), *links(b=TWO)), {"a": "x"}),  # a port of a bond
        ((Link(2, "x", kind="bond", mac=ONE), *links(b=TWO)), {}),
    ],
)
def test_a_nic_is_followed_by_its_mac(present: tuple[Link, ...], found: dict[str, str]) -> None:
    assert {name: now for name, now, _ in renamed(WORKED, present)} == found


def test_the_macs_of_a_file_are_kept_by_the_names_in_the_file() -> None:
    assert macs_of(FILE, links(a=ONE, b=TWO, c=THREE)) == WORKED
    assert macs_of(FILE, links(b=ONE, a=TWO), (("a", "b", ONE), ("b", "a", TWO))) == WORKED
    assert macs_of(FILE, links(a=ONE, b=ONE)) == {}
    bonded = (*links(a=ONE), Link(3, "b", mac=ONE, permanent_mac=TWO), Link(4, "bond0", kind="bond", mac=ONE))
    assert macs_of(FILE, bonded) == WORKED
    assert macs_of(Links(existing=frozenset({"a"})), links(a=ONE)) == {}  # identified by another key


def test_the_profile_that_a_nic_had_with_the_file_follows_it() -> None:
    found = (("a", "b", ONE), ("b", "a", TWO))
    profiles = [Profile("1", "a", "802-3-ethernet", "a"), Profile("2", "b", "802-3-ethernet", "b")]
    used = {"a": "1", "b": "2"}
    assert moves(found, used, profiles) == {"1": "b", "2": "a"}
    half = [Profile("1", "a", "802-3-ethernet", "b"), profiles[1]]
    assert moves(found, used, half) == {"2": "a"}
    in_memory = [Profile("1", "a", "802-3-ethernet", "a", on_disk=False), Profile("2", "b", "802-3-ethernet")]
    assert moves(found, used, in_memory) == {}  # the second names no link
    assert moves(found, {}, profiles) == {}


def test_the_edit_is_shown_whole() -> None:
    found = (("a", "x", ONE),)
    assert cause("w.yml", found) == f"a is called x now (same MAC {ONE}); w.yml is used with the new name of each NIC"
    identified = f'`identifier: mac-address` and `mac-address: "{ONE}"`'
    then = "`nodenetctl explain nmstate` prints each entry ready to paste"
    assert remedy("w.yml", found, {"a": 7}) == f"Write into w.yml below `name: a` in line 7: {identified}. {then}"
    entry = f"an entry with `name: a` and `type: ethernet`: {identified}"
    assert remedy("w.yml", found, {}) == f"Write into w.yml {entry}. {then}"
    assert block(found) == f'- name: a\n  type: ethernet\n  identifier: mac-address\n  mac-address: "{ONE}"\n'
