"""nodenet-ipam as a process: its options and settings, its signals, its beginning and its end."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import structlog

from nodenet import __version__
from nodenet.cni.people import People
from nodenet.cni.service import SOCKET, STORE, Identity, Service
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.metrics.program import Program, ProgramMetrics
from nodenet.core.settings.model import NotAllowed, Settings
from nodenet.core.settings.parse import parse
from nodenet.edge.bus.connection import Bus
from nodenet.edge.clock import Clock, Idle, boot_id
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kubernetes.ipam_api import KubernetesIpam
from nodenet.edge.metrics.file import MetricsFile
from nodenet.edge.persistent_ips import plugin_socket
from nodenet.edge.persistent_ips.plugin_socket import PluginSocket
from nodenet.edge.persistent_ips.store import Store
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.notify import Notifier, report_ready
from nodenet.loop.background import Background

log = structlog.get_logger()

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
        log.error(cause, message=Message.IPAM_STORE_FAILED, cause=cause)
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
        background.start("the watchdog", lambda: _beat(notifier))
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
                log.warning(text, message=Message.KUBECONFIG_WEAK, cause=text)
        self._known = weaknesses


async def _beat(notifier: Notifier) -> None:
    while True:
        notifier.beat(starting=False)
        await asyncio.sleep(notifier.seconds)


if __name__ == "__main__":
    sys.exit(main())
