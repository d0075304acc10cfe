"""nodenet-operator as a process: its options and settings, its signals, its beginning and its end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog

from nodenet import __version__
from nodenet.cluster_operator.steward import Steward
from nodenet.core.errors import Forbidden, NodenetError, Unavailable
from nodenet.core.hosted_cluster import cluster_status, leases, metrics
from nodenet.core.hosted_cluster.cluster_status import NEW, OPERATOR, PATH
from nodenet.core.hosted_cluster.leases import DEADLINE_SECONDS, NAME, RENEW_SECONDS, Step, Watched
from nodenet.core.hosted_services.model import options_of
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.model import Conflict
from nodenet.core.settings.parse import parse
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kubernetes.cluster_api import ClusterApi
from nodenet.edge.metrics import Endpoint
from nodenet.edge.systemd import journal
from nodenet.loop.background import Background
from nodenet.ports.kubernetes import Objects

log = structlog.get_logger()

WAIT_SECONDS = 5.0
"""Between two looks of one that does not lead."""


class Election:
    """This operator's part in the election."""

    def __init__(self, api: Objects, namespace: str, me: str, clock: Callable[[], str]) -> None:
        """*me*: the name of this operator, which no other one has. *clock* returns the time as the API writes it."""
        self._api = api
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._me = me
        self._clock = clock
        self._watched = Watched()
        self._renewed: float | None = None
        """When the Lease was written last, None for one that does not lead."""

    @property
    def leads(self) -> bool:
        """Whether this operator leads at this moment."""
        return self._renewed is not None and _now() - self._renewed < DEADLINE_SECONDS

    async def won(self) -> None:
        """Return when this operator leads."""
        while not self.leads:
            await self._look()
            if not self.leads:
                await asyncio.sleep(WAIT_SECONDS)
        log.info(f"{self._me} leads")

    async def lost(self) -> None:
        """Renew the Lease; return when another operator may lead."""
        while self.leads:
            await asyncio.sleep(RENEW_SECONDS)
            await self._look()
        self._renewed = None
        cause = f"{self._me} leads no longer: its Lease could not be renewed, or another operator has it"
        log.warning(cause, message=Message.API_FAILED, cause=cause)

    async def give_back(self) -> None:
        """Let another operator begin at once."""
        if self._renewed is None:
            return
        self._renewed = None
        try:
            lease = await self._api.find(f"{self._leases}/{NAME}")
            if lease is not None and (lease.get("spec") or {}).get("holderIdentity") == self._me:
                await self._write(lease, {"holderIdentity": ""})
        except (Unavailable, Conflict) as error:
            log.info(f"The Lease was not given back: {error.cause}")

    async def _look(self) -> None:
        """Read the Lease, and do what follows."""
        asked = _now()
        try:
            lease = await self._api.find(f"{self._leases}/{NAME}")
            self._watched = leases.seen(self._watched, lease, asked)
            what = leases.step(self._me, lease, self._watched, asked)
            if what is Step.WAIT:
                self._renewed = None
                return
            await self._write(lease, leases.spec(self._me, lease, what, self._clock()))
        except Conflict:  # another one has written it in the meantime
            return
        except Unavailable as error:
            log.warning(error.cause, message=Message.API_FAILED, cause=error.cause, remedy=error.remedy)
            return
        self._renewed = asked

    async def _write(self, lease: Any, spec: dict[str, Any]) -> None:  # noqa: ANN401
        if lease is None:
            made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME}, "spec": spec}
            await self._api.create(self._leases, made)
            return
        version = {"resourceVersion": lease["metadata"]["resourceVersion"]}
        await self._api.merge(f"{self._leases}/{NAME}", {"metadata": version, "spec": spec})


def _now() -> float:
    return asyncio.get_running_loop().time()


# Does the ClusterOperator of OpenShift say what the object HostedNetServices says? Elsewhere there is no such kind.

LOOK_SECONDS = 900.0
"""How often it is read again, and how often a cluster is asked whether it has the kind."""
PAUSE_SECONDS = 20.0


class Announcement:
    """Keeps the ClusterOperator, where the cluster has such a kind and the role for it."""

    def __init__(self, api: Objects, version: str, leads: Callable[[], bool]) -> None:
        """*version*: that of nodenet. *leads* is asked before each write."""
        self._api = api
        self._version = version
        self._leads = leads
        self._wanted: dict[str, Any] | None = None
        self._changed = asyncio.Event()

    def take(self, conditions: Sequence[Mapping[str, Any]]) -> None:
        """Say this from now on."""
        wanted = cluster_status.operator_status(conditions, self._version)
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.set()

    async def run(self) -> None:
        """Write what differs, until cancelled."""
        await self._changed.wait()
        while True:
            self._changed.clear()
            try:
                await self._bring()
            except Forbidden:  # no such kind here, or no role for it
                await asyncio.sleep(LOOK_SECONDS)
                continue
            except Conflict:
                self._changed.set()
            except Unavailable as error:
                log.warning(error.cause, message=Message.API_FAILED, cause=error.cause)
                self._changed.set()
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _bring(self) -> None:
        """Write it where it differs. Raises Conflict, Forbidden, Unavailable."""
        found = await self._api.find(f"{PATH}/{OPERATOR}")
        if self._wanted is None or not self._leads():
            return
        if found is None:
            found = await self._api.create(PATH, NEW)
        before = found.get("status") or {}
        if any(before.get(key) != value for key, value in self._wanted.items()):
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            await self._api.merge(f"{PATH}/{OPERATOR}/status", {"metadata": version, "status": self._wanted})
            log.info(f"The ClusterOperator {OPERATOR} was written")


EX_SOFTWARE, EX_TEMPFAIL = 70, 75


# How does the process begin and end?


def main(arguments: Sequence[str] | None = None) -> int:
    """Run nodenet-operator until it is asked to stop; return its exit code (sysexits.h)."""
    options = _options(arguments)
    journal.configure("nodenet-operator")
    try:
        return asyncio.run(serve(options))
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenet-operator had an unexpected error: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401
        return EX_SOFTWARE


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "nodenet-operator", description="Writes into the object HostedNetServices what the nodes report."
    )
    parser.add_argument("--settings", default=settings_files.DIRECTORY, metavar="DIR", help="where nodenet.toml is")
    parser.add_argument("--kubeconfig", required=True, metavar="FILE", help="the credentials")
    parser.add_argument("--namespace", default="kube-system", metavar="NAME", help="where the Lease of the leader is")
    served = "where /metrics and /healthz are served by HTTP; 0: nowhere"
    parser.add_argument("--metrics-port", type=_port, default=0, metavar="PORT", help=served)
    parser.add_argument("--name", default=socket.gethostname(), metavar="NAME", help="the name of this operator")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> int:
    """Wait until this operator leads, then keep the object. Raises SettingsInvalid."""
    settings = parse(settings_files.read(options.settings)).settings
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    api = ClusterApi(options.kubeconfig, _weak)
    # The start of a pod that has the same name again is another operator.
    election = Election(api, options.namespace, f"{options.name}_{os.urandom(4).hex()}", _lease_time)
    announcement = Announcement(api, __version__, lambda: election.leads)
    steward = Steward(api, options_of(settings), lambda: election.leads, lambda: datetime.now(UTC), announcement.take)
    log.info(f"nodenet-operator {__version__} begins")
    background = Background()
    endpoint = Endpoint(
        options.metrics_port,
        lambda: metrics.text(__version__, steward.figures, api.requests, steward.status if election.leads else None),
    )
    try:
        if options.metrics_port:
            background.start("the metrics", endpoint.run)
        if await _either(election.won(), stop):
            background.start("the watch of the Nodes", steward.follow_nodes)
            background.start("the watch of HostedNetServices", steward.follow_resource)
            background.start("the Leases of the nodes", steward.read_leases)
            background.start("the status", steward.run)
            background.start("the ClusterOperator", announcement.run)
            if await _either(election.lost(), stop):
                return EX_TEMPFAIL  # another process begins with nothing that this one has known
    finally:
        await background.end()
        await election.give_back()
        await api.close()
    log.info("nodenet-operator stops")
    return 0


def _port(text: str) -> int:
    """Return a port or 0. Raises ValueError."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError(text)
    return number


async def _either(work: Coroutine[None, None, None], stop: asyncio.Event) -> bool:
    """Return True when *work* is over, and False when *stop* is set before."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if not task.done():
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if tasks[0].cancelled():
        return False
    tasks[0].result()
    return True


def _weak(weaknesses: tuple[str, ...]) -> None:
    for text in weaknesses:
        log.warning(text, message=Message.NOTE, cause=text)


def _lease_time() -> str:
    """Return the time with microseconds, as Leases have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


if __name__ == "__main__":
    sys.exit(main())
