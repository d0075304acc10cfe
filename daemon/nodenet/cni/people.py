"""How do people see what the service does: on the bus, in the file with the figures, and by ``nodenetctl claims``?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from nodenet.cni.service import Service
from nodenet.core.errors import UsageInvalid
from nodenet.core.persistent_ips import bus, check, explain, metrics
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import Here, ListLeases, Steps, ask
from nodenet.core.persistent_ips.lease import all_selector
from nodenet.core.persistent_ips.metrics import Figures
from nodenet.core.persistent_ips.model import Attachment
from nodenet.edge.bus.connection import Bus
from nodenet.edge.bus.objects import BusObjects
from nodenet.edge.metrics.file import MetricsFile
from nodenet.loop.background import Background

# What does the service know, for people: which addresses, why, and whether store, Leases and claims agree?


MOST_REFUSALS = 1000
"""Of so many pods the last refusal is remembered."""
T = TypeVar("T")


class Run(Protocol):
    """Carries out the steps of a verb."""

    def __call__(self, steps: Steps[T]) -> Awaitable[T]:
        """Return what *steps* return. Raises what they raise."""


class Answers:
    """The answers to questions over the bus; fits ``bus_object.Answers``."""

    def __init__(self, here: Callable[[], Here], run: Run, problems: Callable[[], Sequence[str]]) -> None:
        """*here*: what a verb gets that begins now. *problems*: what is wrong at the moment."""
        self._here = here
        self._run = run
        self._problems = problems
        self._figures = Figures()
        self._refusals: dict[str, str] = {}

    def refused(self, pod: str, cause: str) -> None:
        """Remember why *pod* (NAMESPACE/NAME) got no address."""
        self._refusals.pop(pod, None)
        self._refusals[pod] = cause
        if len(self._refusals) > MOST_REFUSALS:
            del self._refusals[next(iter(self._refusals))]

    def served(self, pod: str) -> None:
        """Forget the refusal: *pod* got its addresses."""
        self._refusals.pop(pod, None)

    def document(self) -> Mapping[str, Any]:
        """Return the claims document."""
        here = self._here()
        return explain.document(here.book, here.node, self._problems())

    def figures(self) -> Figures:
        """Return what is counted and measured since the service started."""
        return self._figures

    def explain(self, claim: str) -> str:
        """Return why the claim NAMESPACE/NAME has its addresses, or what it waits for."""
        namespace, _, name = claim.partition("/")
        return explain.explain(self._here().book, namespace, name, self._refusals)

    async def check(self, *, repair: bool) -> Mapping[str, Any]:
        """Compare store, Leases and claims, and repair where that is safe. Raises ApiAway, Forbidden, PublishFailed."""
        here = self._here()
        before = frozenset(here.book.reservations())
        leases = await self._run(ask(ListLeases(all_selector())))
        found: list[tuple[check.Difference, bool]] = []
        for difference in check.differences(here, leases):
            if difference.row is not None and difference.row not in before:
                continue  # reserved while the Leases were listed: its Lease may not be among them
            found.append((difference, False))
        if repair:
            found = [(one, await self._run(check.repair(self._here(), one))) for one, _ in found]
        return check.document(here.book, leases, found)


# How do changes reach the bus and the file with the figures? Many changes in one moment are shown once.


PAUSE_SECONDS = 1.0


class Known(Protocol):
    """What is shown."""

    def document(self) -> Mapping[str, Any]:
        """Return the claims document."""

    def figures(self) -> metrics.Figures:
        """Return what is counted and measured since the service started."""


class Display:
    """Shows what the service knows."""

    def __init__(
        self, known: Known, shows: Sequence[Callable[[Mapping[str, Any]], object]], figures: MetricsFile
    ) -> None:
        """*shows* get the document after each change. *figures*: the file for a monitoring system."""
        self._known = known
        self._shows = shows
        self._figures = figures
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """Show what is known soon."""
        self._changed.set()

    async def run(self) -> None:
        """Show now, and after each change. Never ends."""
        while True:
            self._changed.clear()
            self._show()
            await self._changed.wait()
            await asyncio.sleep(PAUSE_SECONDS)

    def end(self) -> None:
        """Write the figures of a service that has stopped."""
        figures = self._known.figures()
        figures.program.running = False
        self._figures.put(metrics.text(self._known.document(), figures))

    def _show(self) -> None:
        document = self._known.document()
        for show in self._shows:
            show(document)
        self._figures.put(metrics.text(document, self._known.figures()))


# How does nodenet-ipam answer on the bus? Questions from all users, a check from root (``edge.bus.objects``).


Document = Mapping[str, Any]


class BusAnswers(Protocol):
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

    def __init__(self, connection: Bus, answers: BusAnswers) -> None:
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


class People:
    """Shows a service; it works the same without."""

    def __init__(self, service: Service, bus: Bus, figures: MetricsFile, status: Callable[[str], object]) -> None:
        """Connect to what the service reports. *figures*: the file for a monitoring system; *status*: one line."""
        self._bus = bus
        self.answers = Answers(service.here, service.runner.run, lambda: service.problems)
        self._object = BusObject(bus, self.answers)
        self._display = Display(self.answers, [self._object.show, lambda found: status(line(found))], figures)
        service.runner.saved = self._display.changed
        service.runner.took = self.answers.figures().request
        service.verbs.counted = self._count
        service.verbs.took = self._took
        service.verbs.refused = self._refused
        service.verbs.given = self._given

    def start(self, background: Background) -> None:
        """Begin: without a bus, the file is written all the same."""
        background.start("the connection to the bus", self._bus.run)
        background.start("what is shown", self._display.run)

    def end(self) -> None:
        """Leave the figures as those of a service that has stopped."""
        self._display.end()

    def _count(self, name: str) -> None:
        self.answers.figures().counts[name] += 1
        self._display.changed()

    def _took(self, verb: Verb, seconds: float) -> None:
        self.answers.figures().verbs[verb].observe(seconds)

    def _refused(self, pod: str, cause: str) -> None:
        if pod:
            self.answers.refused(pod, cause)
            self._object.refused(pod, cause)

    def _given(self, attachment: Attachment) -> None:
        if attachment.pod is not None:
            self.answers.served(str(attachment.pod))


def line(document: Mapping[str, Any]) -> str:
    """Return what ``systemctl status`` shows of a claims document."""
    counted = f"{len(document['addresses'])} addresses"
    return f"{counted}; {'; '.join(document['problems'])}" if document["problems"] else counted
