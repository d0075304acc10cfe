"""With which state of each API server does haproxy begin when it is reloaded? (its management guide, 9.3)

By itself it begins with every server as alive, until a check has failed. A server that is new, or was dead before the
reload, would get connections until then. In the state file such a server is stopped until its checks are good.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from ipaddress import ip_address

from nodenet.core.ip import IPAddress

QUESTION = "show servers state api"
Server = tuple[str, IPAddress]
"""Name and address."""
_VERSION = 1
_NAME, _ADDRESS, _STATE = 3, 4, 5
_FIELDS = 20
_STOPPED = "0"


def alive(answer: str) -> Mapping[Server, bool]:
    """Return which servers haproxy has, and whether each is alive; what cannot be understood is left out."""
    found: dict[Server, bool] = {}
    for line in answer.splitlines():
        fields = line.split()
        if len(fields) >= _FIELDS and not line.startswith("#"):
            with suppress(ValueError):
                found[fields[_NAME], ip_address(fields[_ADDRESS])] = fields[_STATE] != _STOPPED
    return found


def render(servers: Collection[Server], before: Mapping[Server, bool], port: int) -> str:
    """Return the state file for *servers* on *port*; *before*: those that haproxy has, and whether each is alive.

    Where none of them is known to be alive, all begin as alive: haproxy would have no server at all.
    """
    doubtful = [server for server in servers if not before.get(server)]
    if len(doubtful) == len(servers):
        doubtful = []
    return "".join(f"{line}\n" for line in (str(_VERSION), *(_stopped(*server, port) for server in doubtful)))


def _stopped(name: str, address: IPAddress, port: int) -> str:
    """Return the line of a server that is stopped, with weight 1 and checks that are configured and enabled."""
    return f"0 api 0 {name} {address} {_STOPPED} 0 1 1 0 0 0 0 6 0 0 0 - {port} -"
