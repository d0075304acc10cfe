"""How does nodenet-hosted answer on the bus? Questions from all users, orders from root (``edge.bus.objects``)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nodenet.core.hosted_services import bus
from nodenet.core.hosted_services.paths import COMPANION_NAME
from nodenet.core.hosted_services.report import explain
from nodenet.edge.bus.connection import Bus
from nodenet.edge.bus.objects import BusObjects

Document = Mapping[str, Any]


class BusObject(BusObjects):
    """The object /org/nodenet1/hosted."""

    def __init__(
        self,
        connection: Bus,
        document: Callable[[], Document],
        drain: Callable[[], Awaitable[bool]],
        undrain: Callable[[], None],
    ) -> None:
        """*document* is asked whenever a property is read."""
        super().__init__(connection, COMPANION_NAME, bus.OBJECTS)
        self._document_now = document
        self._drain = drain
        self._undrain = undrain
        self._shown: Document | None = None

    def show(self, document: Document) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, document
        if before is None:
            return
        self.emit_properties(bus.PATH, bus.values(before), bus.values(document))
        for body in bus.signals(before, document):
            self.emit(bus.PATH, bus.HOSTED, "VipChanged", body)

    def values(self, path: str) -> dict[str, Any]:  # noqa: ARG002  (there is one object)
        """Return the value of each property."""
        return bus.values(self._document_now())

    def document(self, member: str, arguments: list[str]) -> str | None:
        """Return the document that a question asks for, None for arguments that it does not take."""
        match member, arguments:
            case "GetStatus", []:
                return json.dumps(self._document_now())
            case "Explain", [topic] if (lines := explain(topic, self._document_now())) is not None:
                return "\n".join(lines)
        return None

    async def obey(self, member: str, arguments: list[str]) -> bool | None:
        """Do what an order asks for; return whether another node holds the VIPs of a drained one."""
        if (member, arguments) == ("Drain", []):
            return await self._drain()
        self._undrain()
        return None
