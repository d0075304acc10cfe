"""Calls with texts as arguments, on one object of a private bus."""

from __future__ import annotations

from typing import Any

from nodenet.edge.bus.connection import Message


async def call(name: str, path: str, other: Any, member: str, *body: str, interface: str = "") -> Any:
    """Return the reply to *other* of the object *path* of *name*; without *interface*, that of the same name."""
    message = Message(
        destination=name,
        path=path,
        interface=interface or name,
        member=member,
        signature="s" * len(body),
        body=list(body),
    )
    return await other.call(message)
