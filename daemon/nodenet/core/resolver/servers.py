"""Which DNS servers of other hosts does this node ask, and is one on the node itself listed?

The probes around an apply and the watch after READY have this one rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from nodenet.core.ip import IPAddress
from nodenet.core.resolver.resolv_conf import MAX_SERVERS, is_ours, is_stub, likely_writer, nameservers
from nodenet.core.resolver.view import BEHIND_STUB, NM_FILES, RESOLV_CONF

FILES = (RESOLV_CONF, BEHIND_STUB, *NM_FILES)
"""The files that decide."""
Texts = Mapping[PurePosixPath, bytes | None]
"""The contents of FILES, None for what cannot be read."""


def servers_of_others(texts: Texts, own: Collection[IPAddress]) -> tuple[IPAddress, ...]:
    """Return the first three servers that are neither on the loopback nor among the node's *own* addresses."""
    listed = (dict.fromkeys(server for server in nameservers(text) if _is_other(server, own)) for text in _of(texts))
    return tuple(next(filter(None, listed), ()))[:MAX_SERVERS]


def servers_in_use(texts: Texts, own: Collection[IPAddress]) -> tuple[IPAddress, ...]:
    """Return all servers in resolv.conf itself, also of another program; the same as above where it lists none."""
    listed = [server for server in nameservers(texts.get(RESOLV_CONF)) if _is_other(server, own)]
    return tuple(dict.fromkeys(listed)) or servers_of_others(texts, own)


def has_own_server(texts: Texts, own: Collection[IPAddress]) -> bool:
    """Return whether a server on the loopback or at one of the node's *own* addresses is listed.

    It may have servers of its own to ask, which no file lists. The local cache that NetworkManager writes into
    resolv.conf has none but those in NetworkManager's file, and systemd-resolved's stub none but those behind it.
    """
    asked = (texts.get(NM_FILES[1]),) if _is_of_manager(texts.get(RESOLV_CONF)) else _of(texts)
    return any(not _is_other(server, own) for text in asked for server in nameservers(text))


def _of(texts: Texts) -> tuple[bytes | None, ...]:
    """Return the texts that may list the servers, the best one first.

    What nodenetd writes into resolv.conf it has from NetworkManager, which knows of a change earlier; and where
    NetworkManager writes a local cache into it, the servers behind it are in another file of its own.
    """
    found = texts.get(RESOLV_CONF)
    if is_stub(found):
        return (texts.get(BEHIND_STUB),)
    if is_ours(found) or _is_of_manager(found):
        return (*map(texts.get, NM_FILES), found)
    return (found,)


def _is_of_manager(found: bytes | None) -> bool:
    return found is not None and likely_writer(found) == "NetworkManager"


def _is_other(server: IPAddress, own: Collection[IPAddress]) -> bool:
    return not (server.is_loopback or server.is_unspecified or server in own)
