"""What does the service answer to each verb of CNI?

ADD waits for the API, but not longer than a runtime does. DEL never fails: what cannot be recorded now is done later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

import structlog

from nodenet.cni.carry_out import Runner
from nodenet.cni.upkeep import Chores, Upkeep
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.persistent_ips import cni
from nodenet.core.persistent_ips.add import add
from nodenet.core.persistent_ips.book import Book, check, doomed, full
from nodenet.core.persistent_ips.cni import CniError, Code, Request, Verb
from nodenet.core.persistent_ips.effects import Here, ListLeases, ask
from nodenet.core.persistent_ips.lease import network_selector
from nodenet.core.persistent_ips.model import ApiAway, Attachment, Forbidden, OwnerKind, PodName
from nodenet.core.persistent_ips.network import name_of, parse
from nodenet.core.persistent_ips.reserve import Asked, Exhausted

log = structlog.get_logger()

ADD_SECONDS = 30.0
"""The plugin waits some seconds longer. kubelet gives a sandbox, with all its NICs, two minutes."""
DEL_SECONDS = 8.0
COUNT_SECONDS = 60.0
Refused = Callable[[PodName | None, CniError], None]


class Verbs:
    """Answers the plugin."""

    def __init__(  # noqa: PLR0913 -- what the service is made of
        self,
        runner: Runner,
        chores: Chores,
        upkeep: Upkeep,
        book: Book,
        here: Callable[[], Here],
        problem: Callable[[], str | None],
    ) -> None:
        """*problem*: why new addresses cannot be given now, None while they can."""
        self._runner = runner
        self._chores = chores
        self._upkeep = upkeep
        self._book = book
        self._here = here
        self._problem = problem
        self._deleting: set[asyncio.Task[None]] = set()
        self._undone: set[tuple[str, str]] = set()
        """The sandboxes whose DEL was answered and could not be recorded."""
        self._counted: dict[str, float] = {}
        """When the Leases of a network were listed for STATUS (uptime)."""
        self.counted: Callable[[str], None] = lambda _: None
        """Called with the name of what is counted."""
        self.took: Callable[[Verb, float], None] = lambda _verb, _seconds: None
        """Called with each verb and the seconds until its answer."""
        self.refused: Callable[[str, str], None] = lambda _claim, _cause: None
        """Called with NAMESPACE/NAME of a pod and why it got no address."""
        self.given: Callable[[Attachment], None] = lambda _: None
        """Called with each attachment that was made."""

    async def answer(self, document: object) -> dict[str, object]:
        """Return exit code and standard output of the plugin."""
        time = asyncio.get_running_loop().time
        began = time()
        answer = await self._answered(document)
        if (verb := cni.verb_of(document)) is not None:
            self.took(verb, time() - began)
        return answer

    async def _answered(self, document: object) -> dict[str, object]:
        try:
            text = await self._answer(document)
        except CniError as error:
            return {"exit": 1, "stdout": cni.failure(cni.version_of(document), error)}
        except Exception as error:  # a request that we have no answer for ends with itself
            log.exception(f"nodenet-ipam met an unexpected error: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401
            unknown = CniError(Code.TRY_AGAIN, f"Unexpected error: {error!r}"[:500], "See `journalctl -u nodenet-ipam`")
            return {"exit": 1, "stdout": cni.failure(cni.version_of(document), unknown)}
        return {"exit": 0, "stdout": text}

    async def _answer(self, document: object) -> str:
        if (key := cni.deletion(document)) is not None:
            self.counted("del")
            await self._delete(key)
            return ""
        request = cni.parse(document)
        self.counted(request.verb.lower())
        match request.verb:
            case Verb.ADD:
                return await self._add(request)
            case Verb.CHECK:
                check(self._book, request)
            case Verb.GC:
                await self._collect(request)
            case Verb.STATUS:
                await self._status(request)
        return ""

    async def _add(self, request: Request) -> str:
        network = parse(request.configuration)
        asked = Asked(request.container_id, request.ifname, request.netns, request.pod, network)
        before, known = self._here(), self._book.attachment(asked.key)
        try:
            async with self._runner.holding("sandbox", *asked.key):
                await self._detach_undone(asked.key)
                addresses = await self._runner.run(add(before, asked), ADD_SECONDS)
        except (CniError, PublishFailed) as error:
            refusal = error if isinstance(error, CniError) else CniError(Code.IO, error.cause, error.remedy)
            self._reject(request, network.name, refusal)
            raise refusal from error
        attachment = self._book.attachment(asked.key)
        if attachment is not None and attachment != known:
            self._allocated(attachment, before.now)
        return cni.result(request.version, network.given(addresses), network.extras(addresses))

    def _allocated(self, attachment: Attachment, began: float) -> None:
        self.counted("allocated")
        self.given(attachment)
        rows = self._book.held_by(attachment.owner, attachment.network)
        if attachment.owner.kind is OwnerKind.CLAIM and any(row.since != began for row in rows):
            self._upkeep.attached(attachment)
        addresses = ", ".join(map(str, attachment.addresses))
        pod = f" (pod {attachment.pod}, {attachment.ifname})" if attachment.pod else f" ({attachment.ifname})"
        text = f"{attachment.owner} has {addresses} of network {attachment.network}{pod}"
        log.info(text, message=Message.ADDRESS_ALLOCATED)

    def _reject(self, request: Request, network: str, error: CniError) -> None:
        self.counted("refused")
        pod = f"pod {request.pod}" if request.pod else f"container {request.container_id}"
        text = f"No address of network {network} for {pod}: {error.text}"
        kind = Message.SUBNET_EXHAUSTED if isinstance(error, Exhausted) else Message.CLAIM_REJECTED
        log.warning(text, message=kind, cause=error.text, remedy=error.details)
        self.refused(str(request.pod or ""), error.text)

    async def _delete(self, key: tuple[str, str]) -> None:
        """Detach, but let the runtime wait only so long: the attachment is removed when it is no longer blocked."""
        task = asyncio.ensure_future(self._detach(key))
        self._deleting.add(task)
        task.add_done_callback(self._deleting.discard)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEL_SECONDS):
                await asyncio.shield(task)

    async def _detach(self, key: tuple[str, str]) -> None:
        async with self._runner.holding("sandbox", *key):
            if (attachment := self._book.attachment(key)) is None:
                return
            try:
                await self._upkeep.detach(attachment)
            except PublishFailed:
                self._undone.add(key)
                self._chores.add(("detach", *key), partial(self._detach_later, key), DEL_SECONDS)

    async def _detach_later(self, key: tuple[str, str]) -> None:
        async with self._runner.holding("sandbox", *key):
            await self._detach_undone(key)

    async def _detach_undone(self, key: tuple[str, str]) -> None:
        """Detach what a DEL could not record: the container may get an address again. Raises PublishFailed."""
        if key in self._undone:
            if (attachment := self._book.attachment(key)) is not None:
                await self._upkeep.detach(attachment)
            self._undone.discard(key)

    async def _collect(self, request: Request) -> None:
        kept = cni.valid_attachments(request.configuration)
        for attachment in doomed(self._book, name_of(request.configuration), kept):
            if not self._runner.is_held("sandbox", *attachment.key):  # its ADD or DEL is on the way
                await self._delete(attachment.key)

    async def _status(self, request: Request) -> None:
        network = parse(request.configuration)
        if problem := self._runner.store_problem or self._problem():
            raise CniError(Code.NOT_AVAILABLE, f"No new address can be given: {problem}", "See `nodenetctl claims`")
        if full(self._book, network):
            await self._count(network.name)
        if pool := full(self._book, network):
            text = f"Network {network.name} has no free address in {pool.subnet}"
            raise CniError(Code.NOT_AVAILABLE, text, "Delete IPAMClaims that are not needed, or enlarge the subnet")

    async def _count(self, network: str) -> None:
        """Look which addresses other nodes have, at most once a minute: they may have given some back."""
        now = self._here().uptime
        if now - self._counted.get(network, -COUNT_SECONDS) < COUNT_SECONDS:
            return
        self._counted[network] = now
        with contextlib.suppress(ApiAway, Forbidden):
            leases = await self._runner.run(ask(ListLeases(network_selector(network))))
            self._book.note_taken(network, (one.address.ip for one in leases), all_of_them=True)

    async def end(self) -> None:
        """Wait for the sandboxes that are being detached, for a while."""
        if self._deleting:
            await asyncio.wait(self._deleting, timeout=DEL_SECONDS)
