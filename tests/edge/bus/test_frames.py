"""Messages of every kind, cut into pieces of any size, and what cannot be a message at all."""

from __future__ import annotations

import random
import struct

import pytest

from edge.raw_bus import CALL, SIGNAL, message, string
from edge.stranger_messages import Strange
from nodenet.edge.bus.frames import HEADER_BYTES, Frame, Framer, MalformedError

FIELDS = [(1, "o", "/a"), (2, "s", "x.y"), (3, "s", "Ping"), (7, "s", ":1.7")]


def read(data: bytes, size: int = 1 << 20, room: int = 1 << 20) -> list[Frame]:
    """Return the frames of a stream that comes in pieces of *size* bytes."""
    framer = Framer(lambda _: room)
    found = []
    for at in range(0, len(data), size):
        framer.feed(data[at : at + size])
        while frame := framer.next():
            found.append(frame)
    return found


def test_a_message_is_the_same_in_pieces_of_any_size() -> None:
    """Chance makes messages of both byte orders, with all types; each body can be decoded."""
    strange = Strange(3)
    messages = [made.start for made in (strange.next() for _ in range(400)) if not (made.fatal or made.repeat)]
    stream = b"".join(messages)
    whole = read(stream)
    assert len(whole) == len(messages)
    assert read(stream[:20_000], size=7) == read(stream[:20_000])
    assert [frame._replace(body=None) for frame in read(stream, room=0) if frame.size] == [
        frame._replace(body=None) for frame in whole if frame.size
    ]
    for frame in whole:
        frame.values()


def test_the_header_fields_are_read() -> None:
    (frame,) = read(message(CALL, 9, [*FIELDS, (6, "s", "a.b"), (8, "g", "s")], string("x"), flags=1))
    assert (frame.kind, frame.serial, frame.flags, frame.path, frame.interface, frame.member) == (
        *(CALL, 9, 1),
        *("/a", "x.y", "Ping"),
    )
    assert (frame.sender, frame.signature, frame.values()) == (":1.7", "s", ["x"])


def test_a_header_that_is_too_long_is_skipped() -> None:
    """Its message is lost, the next one is not."""
    long = message(SIGNAL, 1, [(1, "o", "/" + "a" * HEADER_BYTES), (2, "s", "x.y"), (3, "s", "Long")], b"12345678")
    assert [frame.member for frame in read(long + message(SIGNAL, 2, FIELDS), size=1000)] == ["Ping"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 16,
        b"l\1\0\2" + b"\0" * 12,
        b"l\1\0\1" + struct.pack("<III", 1 << 31, 1, 0),
        message(SIGNAL, 1, [(1, "o", b"\xff\xff\xff\xff")]),
        message(SIGNAL, 1, [(99, "av", b"\xff\xff\xff\xff\xff\xff\xff")]),
    ],
    ids=["order", "version", "size", "string", "array"],
)
def test_what_is_no_message_ends_the_stream(data: bytes) -> None:
    with pytest.raises(MalformedError):
        read(data)


def test_chance_ends_a_stream_or_makes_frames_and_nothing_else() -> None:
    """Whatever the bytes are."""
    chance = random.Random(5)  # noqa: S311
    good = message(CALL, 9, [*FIELDS, (8, "g", "a{sv}")], struct.pack("<I", 0))
    for _ in range(5_000):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            for frame in read(bytes(data)):
                frame.values()
        except (MalformedError, ValueError):
            continue


@pytest.mark.parametrize("signature", ["v", "a{sv}", "(", "zz", "s" * 300])
def test_a_body_that_does_not_fit_its_signature_is_an_error(signature: str) -> None:
    (frame,) = read(message(SIGNAL, 1, FIELDS, b"\xff" * 8))
    with pytest.raises(ValueError, match="a body that is not"):
        frame._replace(signature=signature).values()
