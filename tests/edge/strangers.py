"""What a stranger does to nodenetd over the bus: a program, MODE SOCKET [nobody].

It prints one line when it has done it, and goes on to hold its connection until its input ends.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from edge.raw_bus import RawClient, become_nobody, padded, signature, string

MIB = 1024 * 1024
MODES: dict[str, Callable[[Path], object]] = {}


def mode(does: Callable[[Path], object]) -> Callable[[Path], object]:
    """Offer a function as a mode."""
    MODES[does.__name__] = does
    return does


def read_by_the_service(client: RawClient) -> RawClient:
    """Return *client* when the service has read all that it sent: it answers a last question."""
    client.send(client.call("Ping", interface="org.freedesktop.DBus.Peer"))
    reply_serial, heard = b"\5\1u\0" + struct.pack("<I", client.serial), b""
    while reply_serial not in heard:
        more = client.answer()
        if not more:
            raise RuntimeError("the service does not answer")
        heard = heard[-len(reply_serial) :] + more
    return client


def many_variants(size: int) -> bytes:
    """Return the body of an ``av`` with as many small values as fit."""
    data = (signature("y") + b"\1") * (size // 4)
    return struct.pack("<I", len(data)) + data


def many_signatures(size: int, seed: int) -> bytes:
    """Return the body of an ``av`` in which every value has a signature of its own."""
    letters, data, offset = random.Random(seed), bytearray(), 4  # noqa: S311
    while len(data) < size:
        types = "".join(letters.choice("yn") for _ in range(252))
        data += signature(f"({types})")
        data += b"\0" * (-(len(data) + offset) % 8)
        for one in types:
            data += b"\0" * ((len(data) + offset) % 2) + b"\0\0" if one == "n" else b"\0"
    return struct.pack("<I", len(data)) + bytes(data)


@mode
def variants(path: Path) -> object:
    """Two signals of 30 MiB: seven million values each."""
    client = RawClient(path)
    for _ in range(2):
        client.send(client.signal("Z", "av", many_variants(30 * MIB), path="/x", interface="x.y"))
    return read_by_the_service(client)


@mode
def signatures(path: Path) -> object:
    """Calls and signals with thousands of signatures."""
    client = RawClient(path)
    for seed in range(4):
        body = many_signatures(2 * MIB, seed)
        client.send(client.signal("StateChanged", "av", body, path="/org/freedesktop/NetworkManager", interface="x.y"))
        client.send(client.call("GetStatus", "av", body))
    return read_by_the_service(client)


@mode
def flood(path: Path) -> object:
    """Thirty thousand signals and calls as fast as they can be sent; a third of their answers is not wanted."""
    client = RawClient(path)
    client.socket.setblocking(True)
    for _ in range(100):
        burst = [client.signal("Z", path="/x", interface="x.y") for _ in range(100)]
        burst += [client.call("Explain", "s", string("node-ip"), flags=1) for _ in range(100)]
        burst += [client.call("Ping", interface="org.freedesktop.DBus.Peer", flags=1) for _ in range(100)]
        client.send(b"".join(burst))
    return read_by_the_service(client)


@mode
def questions(path: Path) -> object:
    """A hundred GetStatus at once."""
    client = RawClient(path)
    client.send(b"".join(client.call("GetStatus") for _ in range(100)))
    return client


@mode
def many_descriptors(path: Path) -> object:
    """Signals with 16 descriptors each, two thousand in all."""
    client = RawClient(path, descriptors=True)
    for _ in range(125):
        client.send(client.signal("Z", path="/x", interface="x.y", more=((9, "u", 16),)), [0] * 16)  # type: ignore[arg-type]
    return read_by_the_service(client)


def job_removed(unit: str, result: str) -> bytes:
    """Return the body of systemd's signal."""
    body = struct.pack("<I", 7) + string("/org/freedesktop/systemd1/job/7")
    return padded(padded(body, 4) + string(unit), 4) + string(result)


@mode
def forgeries(path: Path) -> object:
    """Signals in the names of others, to nodenetd and to everybody."""
    client = RawClient(path)
    systemd, manager = "org.freedesktop.systemd1", "org.freedesktop.NetworkManager"
    for _ in range(50):
        for member, types, body, where, interface in (
            ("JobRemoved", "uoss", job_removed("other.service", "done"), "/" + systemd.replace(".", "/"), systemd),
            ("JobRemoved", "", b"", "/" + systemd.replace(".", "/"), systemd),
            ("StateChanged", "", b"", "/" + manager.replace(".", "/"), manager),
            ("PropertiesChanged", "", b"", "/org/freedesktop/hostname1", "org.freedesktop.DBus.Properties"),
            ("NameOwnerChanged", "s", string(manager), "/org/freedesktop/DBus", "org.freedesktop.DBus"),
        ):
            interface_ = f"{interface}.Manager" if member == "JobRemoved" else interface
            client.send(client.signal(member, types, body, path=where, interface=interface_))
            client.send(client.signal(member, types, body, path=where, interface="x.y"))
    return client


def main() -> None:
    """Do it, say so, hold on."""
    name, path, *more = sys.argv[1:]
    if more:
        become_nobody()
    held = MODES[name](Path(path))
    sys.stdout.write("done\n")
    sys.stdout.flush()
    sys.stdin.read()
    del held


if __name__ == "__main__":
    main()
