"""Messages of every kind that a stranger may send, made by chance: the grammar of D-Bus, and breaches of it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edge.raw_bus import CALL, ERROR, MANAGER, NAME, PATH, RETURN, SIGNAL

BUS = "org.freedesktop.DBus"
PATHS = (PATH, "/", "/org", "/org/nodenet1/stage/nodeip", "/org/nodenet1/stage/nobody", "/x")
CALLS = (
    (MANAGER, "GetStatus", ""),
    (MANAGER, "Explain", "s"),
    (MANAGER, "Reload", ""),
    (MANAGER, "Reselect", ""),
    (MANAGER, "RunStage", "s"),
    (MANAGER, "Inhibit", "sss"),
    ("org.nodenet1.Stage", "Run", ""),
    (f"{BUS}.Properties", "Get", "ss"),
    (f"{BUS}.Properties", "GetAll", "s"),
    (f"{BUS}.Properties", "Set", "ssv"),
    (f"{BUS}.Introspectable", "Introspect", ""),
    (f"{BUS}.Peer", "Ping", ""),
    (f"{BUS}.Peer", "GetMachineId", ""),
    (f"{BUS}.ObjectManager", "GetManagedObjects", ""),
    ("x.y", "Z", "av"),
)
FORGED = (
    ("/org/freedesktop/DBus", BUS, "NameOwnerChanged", "sss"),
    ("/org/freedesktop/DBus", BUS, "NameLost", "s"),
    ("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss"),
    ("/org/freedesktop/NetworkManager", "org.freedesktop.NetworkManager", "StateChanged", "u"),
    ("/org/freedesktop/NetworkManager", f"{BUS}.Properties", "PropertiesChanged", "sa{sv}as"),
    ("/org/freedesktop/NetworkManager/DnsManager", f"{BUS}.Properties", "PropertiesChanged", "sa{sv}as"),
    ("/org/freedesktop/hostname1", f"{BUS}.Properties", "PropertiesChanged", "sa{sv}as"),
)
WORDS = (
    *("", "node-ip", "reselect", "nodeip", "Health", "Stages", MANAGER, NAME, "org.freedesktop.NetworkManager"),
    *("\x1b[2J", "\ufffd\U0001f980", "a" * 255, "b" * 3000),
)
BASIC = "ybnqiuxtdsog"
SIZES = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "b": "I", "h": "I"}
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bytes:
    """What is sent at once: *repeat* times *filler* follows the start; some file descriptors go with it."""

    start: bytes
    filler: bytes = b""
    repeat: int = 0
    descriptors: int = 0
    fatal: bool = False
    """Whether the bus may end the connection of the one who sends this."""


class Strange:
    """A source of messages."""

    def __init__(self, seed: int) -> None:
        """The same *seed* gives the same messages."""
        self.chance = random.Random(seed)  # noqa: S311
        self._serial = 1  # Hello
        self._order = "<"
        self._kinds: Sequence[tuple[int, Callable[[], Bytes]]] = (
            (400, self.call),
            (200, self.forged),
            (60, self.unasked_reply),
            (40, self.unknown_field),
            (20, self.unknown_kind),
            (20, self.descriptors),
            (10, self.broken),
            (4, self.large),
        )

    def next(self) -> Bytes:
        """Return the next one."""
        self._order = self.chance.choice("<<<>")
        weights = [weight for weight, _ in self._kinds]
        (kind,) = self.chance.choices([make for _, make in self._kinds], weights)
        return kind()

    def call(self) -> Bytes:
        """Return a method call, with the arguments of the method or with others."""
        interface, member, types = self.chance.choice(CALLS)
        if self.chance.random() < 0.3:
            types = self.types()
        fields = self._to(self.chance.choice(PATHS), interface, member)
        return Bytes(self.message(CALL, fields, types, flags=self.chance.choice((0, 0, 0, 1, 2, 4, 0xF8))))

    def forged(self) -> Bytes:
        """Return a signal in the name of a service, to us or to everybody."""
        path, interface, member, types = self.chance.choice(FORGED)
        if self.chance.random() < 0.2:
            types = self.types()
        fields = self._to(path, self.chance.choice((interface, interface, "x.y")), member)
        if self.chance.random() < 0.2:
            fields = [field for field in fields if field[0] != 6]
        return Bytes(self.message(SIGNAL, fields, types))

    def unasked_reply(self) -> Bytes:
        """Return a reply to a call that was never made to this connection."""
        fields: list[tuple[int, str, object]] = [(5, "u", self.chance.randrange(1, 400)), (6, "s", NAME)]
        kind = self.chance.choice((RETURN, ERROR))
        fields += [(4, "s", "x.y.Error")] if kind == ERROR else []
        return Bytes(self.message(kind, fields, self.types()))

    def unknown_field(self) -> Bytes:
        """Return a call with a header field that no specification knows."""
        fields = self._to(PATH, MANAGER, "GetStatus")
        types = self.type_(2)
        fields.append((self.chance.randrange(11, 256), types, self.value(types, 2)))
        return Bytes(self.message(CALL, fields, ""), fatal=True)

    def unknown_kind(self) -> Bytes:
        """Return a message of a type that no specification knows."""
        return Bytes(self.message(self.chance.randrange(5, 256), self._to(PATH, MANAGER, "GetStatus"), ""), fatal=True)

    def descriptors(self) -> Bytes:
        """Return a call or a signal with file descriptors."""
        number = self.chance.randrange(1, 17)
        kind = self.chance.choice((CALL, SIGNAL))
        fields = [*self._to(PATH, MANAGER, "GetStatus"), (9, "u", number)]
        return Bytes(self.message(kind, fields, self.chance.choice(("", "h"))), descriptors=number, fatal=True)

    def broken(self) -> Bytes:
        """Return a message some bytes of which are others."""
        data = bytearray(self.call().start)
        for _ in range(self.chance.randrange(1, 8)):
            data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        return Bytes(bytes(data), fatal=True)

    def large(self) -> Bytes:
        """Return a message of up to the bus's limit, mostly of a few megabytes: many small values, or one long one."""
        size = self.chance.choice((64 * 1024, MIB, MIB, 4 * MIB))
        if self.chance.random() < 0.02:
            size = self.chance.choice((30 * MIB, 120 * MIB))
        self._order = "<"
        types, filler = self.chance.choice((("av", b"\1y\0\1"), ("as", b"\0" * 8), ("ay", b"abcd")))
        size -= size % 8
        path, interface, member, kind = self.chance.choice(
            ((PATH, MANAGER, "GetStatus", CALL), ("/x", "x.y", "Z", CALL), ("/x", "x.y", "Z", SIGNAL))
        )
        fields = self._to(path, interface, member)
        head = self._head(kind, 0, [*fields, (8, "g", types)], 4 + size)
        fatal = types == "as"  # padded strings: the last one may end in the middle
        return Bytes(head + struct.pack("<I", size), filler, size // len(filler), fatal=fatal)

    def _to(self, path: str, interface: str, member: str) -> list[tuple[int, str, object]]:
        return [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", NAME)]

    def message(self, kind: int, fields: list[tuple[int, str, object]], types: str, *, flags: int = 0) -> bytes:
        """Return a whole message with a body of *types*."""
        body = bytearray()
        for one in split(types):
            self.put(body, one, self.value(one, 2))
        more = [(8, "g", types)] if types else []
        return self._head(kind, flags, [*fields, *more], len(body)) + bytes(body)

    def _head(self, kind: int, flags: int, fields: Sequence[tuple[int, str, object]], size: int) -> bytes:
        self._serial += 1
        array = bytearray()
        for code, types, value in fields:
            array += b"\0" * (-len(array) % 8)
            array.append(code)
            self.put(array, "g", types)
            self.put(array, types, value)
        order = b"l" if self._order == "<" else b"B"
        head = order + struct.pack(f"{self._order}BBBIII", kind, flags, 1, size, self._serial, len(array)) + array
        return head + b"\0" * (-len(head) % 8)

    def types(self) -> str:
        """Return a signature of a few complete types."""
        return "".join(self.type_(2) for _ in range(self.chance.randrange(4)))

    def type_(self, depth: int) -> str:
        """Return a complete type."""
        kind = self.chance.choice("bbbavse(" if depth else "b")
        match kind:
            case "a":
                return "a" + self.type_(depth - 1)
            case "e":
                return f"a{{{self.chance.choice(BASIC)}{self.type_(depth - 1)}}}"
            case "(":
                return f"({''.join(self.type_(depth - 1) for _ in range(self.chance.randrange(1, 4)))})"
            case "v" | "s":
                return kind
        return self.chance.choice(BASIC)

    def value(self, types: str, depth: int) -> object:  # noqa: PLR0911 -- one for each kind of type
        """Return a value of one complete type."""
        match types[0]:
            case "a" if types[1] == "{":
                key, inner = types[2], types[3:-1]
                return [(self.value(key, 0), self.value(inner, depth)) for _ in range(self.chance.randrange(3))]
            case "a":
                return [self.value(types[1:], depth) for _ in range(self.chance.randrange(4))]
            case "(":
                return [self.value(one, depth) for one in split(types[1:-1])]
            case "v":
                inner = self.type_(max(0, depth - 1))
                return (inner, self.value(inner, max(0, depth - 1)))
            case "s":
                return self.chance.choice(WORDS)
            case "o":
                return self.chance.choice(PATHS)
            case "g":
                return self.chance.choice(("", "s", "a{sv}", "(ii)"))
            case "b":
                return self.chance.randrange(2)
            case "d":
                return self.chance.random()
        return self.chance.randrange(128)

    def put(self, data: bytearray, types: str, value: object) -> None:
        """Append a value of one complete type."""
        code = types[0]
        match code, value:
            case "g", str():
                data += bytes([len(value)]) + value.encode() + b"\0"
            case (("s" | "o"), str()):
                text = value.encode()
                self._number(data, "I", len(text))
                data += text + b"\0"
            case "v", (str() as inner, one):
                self.put(data, "g", inner)
                self.put(data, inner, one)
            case "a", list():
                self._array(data, types[1:], value)
            case "(", list():
                data += b"\0" * (-len(data) % 8)
                for one, each in zip(split(types[1:-1]), value, strict=True):
                    self.put(data, one, each)
            case _:
                self._number(data, SIZES[code], value)

    def _array(self, data: bytearray, inner: str, values: list[object]) -> None:
        self._number(data, "I", 0)
        at = len(data)
        data += b"\0" * (
            -len(data) % (8 if inner[0] in "xtd({" else 1 if inner[0] in "ygv" else 2 if inner[0] in "nq" else 4)
        )
        begin = len(data)
        for value in values:
            if inner[0] == "{":
                data += b"\0" * (-len(data) % 8)
                assert isinstance(value, tuple)
                self.put(data, inner[1], value[0])
                self.put(data, inner[2:-1], value[1])
            else:
                self.put(data, inner, value)
        struct.pack_into(f"{self._order}I", data, at - 4, len(data) - begin)

    def _number(self, data: bytearray, code: str, value: object) -> None:
        data += b"\0" * (-len(data) % struct.calcsize(code))
        data += struct.pack(f"{self._order}{code}", value)


def split(types: str) -> list[str]:
    """Return the complete types of a signature."""
    found = []
    while types:
        end = _end(types)
        found.append(types[:end])
        types = types[end:]
    return found


def _end(types: str) -> int:
    if types[0] == "a":
        return 1 + _end(types[1:])
    if types[0] not in "({":
        return 1
    end, close = 1, {"(": ")", "{": "}"}[types[0]]
    while types[end] != close:
        end += _end(types[end:])
    return end + 1
