"""How boots of a new node file are counted."""

from __future__ import annotations

import pytest

from nodenet.core.apply.new_file import NewFile, begun, lost_boots, parse, reached_ready, render


def test_boots_without_ready_are_counted() -> None:
    """Each boot once; another file begins at nought."""
    record = begun(None, "d", "boot1")
    assert lost_boots(record, "d", "boot1") == 0
    assert begun(record, "d", "boot1") == record
    record = begun(begun(record, "d", "boot2"), "d", "boot3")
    assert lost_boots(record, "d", "boot3") == 2
    assert lost_boots(record, "other", "boot3") == 0
    assert begun(record, "other", "boot3") == NewFile("other", ("boot3",))
    assert lost_boots(None, "d", "boot1") == 0


def test_a_boot_that_reaches_ready_ends_the_count() -> None:
    """The next boot begins another one; a boot that says nothing about the file is not counted."""
    record = NewFile("d", ("boot1", "boot2"))
    assert reached_ready(record, "boot2", applied=False) == NewFile("d", ("boot1",))
    ready = reached_ready(record, "boot2", applied=True)
    assert ready == NewFile("d", ready="boot2")
    assert lost_boots(ready, "d", "boot4") == 0
    assert begun(ready, "d", "boot2") == ready, "a second run of the same boot"
    again = begun(begun(ready, "d", "boot3"), "d", "boot4")
    assert again == NewFile("d", ("boot3", "boot4"))


def test_a_record_is_what_it_was() -> None:
    record = NewFile("d", ("boot1",), ready="boot0", cut_off="boot1", cause="no gateway answers")
    assert parse(render(record)) == record
    assert parse(b'{"version": 1, "digest": "d", "boots": ["boot1"], "ready": ""}') == NewFile("d", ("boot1",))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b'{"version": 2}', b'{"version": 1}', b'{"version": 1, "boots": 3}'),
        b'{"version": 1, "digest": "d", "boots": "abc", "ready": ""}',
        b'{"version": 1, "digest": "d", "boots": [1, 2], "ready": ""}',
        b'{"version": 1, "digest": "d", "boots": [], "ready": false}',
        b'{"version": 1, "digest": "d", "boots": [], "ready": "", "cut_off": 1}',
    ],
)
def test_what_is_no_record_is_refused(content: bytes) -> None:
    """A text in the place of the boots would be one lost boot for each of its characters."""
    with pytest.raises(ValueError):  # noqa: PT011  (the words are json's)
        parse(content)


def test_a_restart_in_a_boot_that_stayed_ready_is_no_other_boot() -> None:
    """It writes nothing; the next boot counts until it is READY, too."""
    stayed = reached_ready(begun(None, "d", "boot1"), "boot1", applied=True)
    assert begun(stayed, "d", "boot1") is stayed
    assert reached_ready(stayed, "boot1", applied=True) is stayed
    assert begun(stayed, "d", "boot2").boots == ("boot2",)
