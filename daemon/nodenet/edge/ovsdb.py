"""Is Open vSwitch's database there? (ovsdb-server(1): a Unix socket that takes JSON-RPC.)"""

from __future__ import annotations

import socket
from pathlib import Path

SOCKET = Path("/run/openvswitch/db.sock")


class Ovsdb:
    """The database's socket."""

    def __init__(self, path: Path = SOCKET) -> None:
        """Look at *path*."""
        self._path = path

    def answers(self) -> bool:
        """Tell whether somebody accepts connections on the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
            return probe.connect_ex(str(self._path)) == 0
