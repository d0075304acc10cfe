"""How does nodenet-ipam answer on the bus? Questions from all users, a check from root (``edge.bus.objects``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from nodenet.core.errors import UsageInvalid
from nodenet.core.persistent_ips import bus, metrics
from nodenet.edge.bus.connection import Bus
from nodenet.edge.bus.objects import BusObjects

Document = Mapping[str, Any]


class Answers(Protocol):
    """What the service knows."""

    def document(self) -> Document:
        """Return the claims document: schema_version, node, problems, addresses."""

    def figures(self) -> metrics.Figures:
        """Return what is counted and measured since the service started."""

    def explain(self, claim: str) -> str:
        """Return why the claim NAMESPACE/NAME has its addresses, or what it waits for."""

    async def check(self, *, repair: bool) -> Document:
        """Compare store, Leases and claims; return addresses (a number) and differences. Raises NodenetError."""


class BusObject(BusObjects):
    """The object /org/nodenet1/ipam."""

    def __init__(self, connection: Bus, answers: Answers) -> None:
        """*answers* are asked at each call."""
        super().__init__(connection, bus.NAME, bus.OBJECTS)
        self._answers = answers
        self._shown: Document | None = None

    def show(self, document: Document) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, document
        if before is None:
            return
        self.emit_properties(bus.PATH, bus.values(before), bus.values(document))
        for name, body in bus.signals(before, document):
            self.emit(bus.PATH, bus.IPAM, name, body)

    def refused(self, pod: str, cause: str) -> None:
        """Emit that *pod* (NAMESPACE/NAME) gets no address."""
        self.emit(bus.PATH, bus.IPAM, "AddressRefused", [pod, cause])

    def values(self, path: str) -> dict[str, Any]:  # noqa: ARG002  (there is one object)
        """Return the value of each property."""
        return bus.values(self._answers.document())

    def document(self, member: str, arguments: list[str]) -> str | None:
        """Return the document that a question asks for, None for arguments that it does not take."""
        match member, arguments:
            case "GetClaims", [network]:
                return json.dumps(bus.of_network(self._answers.document(), network))
            case "Explain", [claim]:
                return self._answers.explain(claim)
            case "GetMetrics", []:
                return metrics.text(self._answers.document(), self._answers.figures())
        return None

    async def obey(self, member: str, arguments: list[str]) -> str:
        """Check, and repair where that was asked for. Raises NodenetError."""
        match member, arguments:
            case "Check", ["" | bus.REPAIR as mode]:
                return json.dumps(await self._answers.check(repair=mode == bus.REPAIR))
        raise UsageInvalid(f"{member} takes an empty text or '{bus.REPAIR}'")
