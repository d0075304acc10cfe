"""nodenet-ipam as a process: its options and settings, its signals, its beginning and its end."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import structlog

from nodenet import __version__
from nodenet.cni.service import SOCKET, STORE, Identity, Service
from nodenet.core.errors import NodenetError, UsageInvalid
from nodenet.core.messages import Message
from nodenet.core.metrics import Program, ProgramMetrics
from nodenet.core.persistent_ips import bus, check, metrics
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import Here, ListLeases, Steps, ask
from nodenet.core.persistent_ips.lease import all_selector
from nodenet.core.persistent_ips.metrics import Figures
from nodenet.core.persistent_ips.model import Attachment
from nodenet.core.settings.model import NotAllowed, Settings
from nodenet.core.settings.parse import parse
from nodenet.edge.bus.connection import Bus
from nodenet.edge.bus.objects import BusObjects
from nodenet.edge.clock import Clock, Idle, boot_id
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam
from nodenet.edge.metrics import MetricsFile
from nodenet.edge.persistent_ips import plugin_socket
from nodenet.edge.persistent_ips.plugin_socket import PluginSocket
from nodenet.edge.persistent_ips.store import Store
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.notify import Notifier, keep_alive, report_ready
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
        return check.explanation(here.book, here.node, self._problems())

    def figures(self) -> Figures:
        """Return what is counted and measured since the service started."""
        return self._figures

    def explain(self, claim: str) -> str:
        """Return why the claim NAMESPACE/NAME has its addresses, or what it waits for."""
        namespace, _, name = claim.partition("/")
        return check.explain(self._here().book, namespace, name, self._refusals)

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
        return check.check_document(here.book, leases, found)


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


log = structlog.get_logger()


# How does the process begin and end?

EX_SOFTWARE = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run nodenet-ipam until it is asked to stop; return its exit code (sysexits.h)."""
    options = _options(arguments)
    gc.freeze()
    gc.enable()
    program = ProgramMetrics(Program.IPAM, __version__, time.time())
    journal.configure("nodenet-ipam", seen=program.seen)
    try:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(serve(options, program))
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenet-ipam met an unexpected error: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401
        return EX_SOFTWARE


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("nodenet-ipam", description="Gives pods their addresses, for the CNI plugin.")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), metavar="DIR", help="where settings, store and socket are"
    )
    parser.add_argument("--socket", type=Path, metavar="FILE", help=f"the plugin's socket (default: {SOCKET})")
    parser.add_argument("--store", type=Path, metavar="FILE", help=f"the store (default: {STORE})")
    parser.add_argument("--kubeconfig", metavar="FILE", help="the credentials, instead of those of the settings")
    parser.add_argument("--node-name", metavar="NAME", help="the node, instead of that of the settings")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace, program: ProgramMetrics) -> int:
    """Build everything and run it. Raises SettingsInvalid, AlreadyRunning, PublishFailed."""
    settings = parse(settings_files.read(str(options.root / "etc/nodenet"))).settings
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    store = Store(_store(options))
    try:
        await _serve(options, settings, store, stop, program)
    finally:
        store.close()
    log.info("nodenet-ipam stops; pods keep their addresses")
    return 0


def _store(options: argparse.Namespace) -> Path:
    return Path(options.store or options.root / STORE.relative_to("/"))


async def _serve(
    options: argparse.Namespace, settings: Settings, store: Store, stop: asyncio.Event, program: ProgramMetrics
) -> None:
    notifier = Notifier()
    if store.set_aside is not None:
        cause = f"The store of addresses could not be read; it is {store.set_aside} now"
        log.error(cause, message=Message.IPAM_FAILED, cause=cause)
    kubeconfig = options.kubeconfig or settings.ipam.kubeconfig or settings.kubernetes.kubeconfig
    weak = _Weaknesses()
    api = KubernetesIpam(kubeconfig, settings.ipam.lease_namespace, weak.note)
    node = options.node_name or settings.kubernetes.node_name or socket.gethostname().lower()
    ignore = settings.ipam.claim_not_allowed is NotAllowed.IGNORE
    path = options.socket or options.root / SOCKET.relative_to("/")
    service = Service(Identity(node, boot_id(), ignore), api, store, Clock(Idle()), plugin_socket.is_gone)
    listening = PluginSocket(path, service.verbs.answer)
    figures = MetricsFile(Program.IPAM, path.parent, settings.metrics_dir, _store(options).parent)
    people = People(service, Bus(changed=lambda _: None), figures, notifier.status)
    people.answers.figures().program = program
    background = Background()
    try:
        await listening.start()
        service.start(background)
        people.start(background)
        background.start("the watchdog", lambda: keep_alive(notifier))
        log.info(f"nodenet-ipam {__version__} begins as node {node}")
        known = f"{len(list(service.book.reservations()))} addresses known"
        background.start("READY", lambda: report_ready(notifier, lambda: known))
        await stop.wait()
    finally:
        notifier.stopping()
        await listening.close()
        await service.end()
        await background.end()
        await api.close()
        people.end()


class _Weaknesses:
    """What is weak of the kubeconfig, logged once."""

    def __init__(self) -> None:
        self._known: tuple[str, ...] = ()

    def note(self, weaknesses: tuple[str, ...]) -> None:
        if weaknesses != self._known:
            for text in weaknesses:
                log.warning(text, message=Message.NOTE, cause=text)
        self._known = weaknesses


if __name__ == "__main__":
    sys.exit(main())
