"""A stranger without privileges that sends messages made by chance: SOCKET SEED. It prints how many it has sent."""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path

from edge.raw_bus import RawClient, become_nobody
from edge.stranger_messages import Bytes, Strange

BATCH = 64
CHUNKS = 8192
DEAF_BATCHES = 200
"""After so many a client that never reads comes back as another one: the bus no longer reads it then."""


class Stranger:
    """One that comes again when the bus ends its connection."""

    def __init__(self, path: Path, seed: int) -> None:
        """Those with an odd *seed* never read."""
        self._path = path
        self._strange = Strange(seed)
        self._reads = seed % 2 == 0
        self._sent = 0

    def run(self) -> None:
        """Send until this process is ended."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                client = RawClient(self._path, descriptors=True)
                client.socket.settimeout(2)
                with client.socket:
                    for _ in range(DEAF_BATCHES):
                        self._send_batch(client)

    def _send_batch(self, client: RawClient) -> None:
        harmless: list[bytes] = []
        message = self._strange.next()
        while not (message.fatal or message.repeat or len(harmless) == BATCH):
            harmless.append(message.start)
            message = self._strange.next()
        client.send(b"".join(harmless))
        self._count(len(harmless))
        if self._reads:
            _read(client)
        self._send(client, message)
        self._count(1)

    @staticmethod
    def _send(client: RawClient, message: Bytes) -> None:
        client.send(message.start, [0] * message.descriptors)
        chunk = message.filler * CHUNKS
        for _ in range(message.repeat // CHUNKS):
            client.send(chunk)
        client.send(message.filler * (message.repeat % CHUNKS))

    def _count(self, number: int) -> None:
        self._sent += number
        sys.stdout.write(f"{self._sent}\n")
        sys.stdout.flush()


def _read(client: RawClient) -> None:
    with contextlib.suppress(BlockingIOError):
        while data := client.socket.recv(1 << 20, socket.MSG_DONTWAIT):
            pass
        if not data:
            raise EOFError


def main() -> None:
    """Give root up and send."""
    path, seed = sys.argv[1:]
    become_nobody()
    Stranger(Path(path), int(seed)).run()


if __name__ == "__main__":
    main()
