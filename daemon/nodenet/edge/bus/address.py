"""Which socket does a D-Bus address name? (D-Bus specification, "Server Addresses")."""

from __future__ import annotations

from urllib.parse import unquote


def socket_path(address: str) -> str:
    """Return the path of the first Unix socket in *address*, as socket(7) takes it. Raises ValueError."""
    for server in address.split(";"):
        transport, _, rest = server.partition(":")
        keys = dict(pair.partition("=")[::2] for pair in rest.split(","))
        if transport == "unix" and "path" in keys:
            return unquote(keys["path"])
        if transport == "unix" and "abstract" in keys:
            return "\0" + unquote(keys["abstract"])
    raise ValueError(f"{address!r} names no Unix socket")
