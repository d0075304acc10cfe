"""How do the probes go with one apply: what begins when, and what is reported?"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.probes.questions import NO_LOOK, Look
from nodenet.core.probes.verdict import PATH, Verdict, dark_uplinks, in_use, report, summary
from nodenet.stages.apply.probes import Before, Probes

log = structlog.get_logger()

UNDECIDED = "the apply or the trial is not over: the file is rolled back if nodenetd or NetworkManager ends now"
INTERRUPTED = "nodenetd was stopped before the file was committed"
CARRIER_SECONDS = 1.0
"""How often the kernel is asked for the carrier of a NIC that negotiates."""


@contextlib.asynccontextmanager
async def probing_around(  # noqa: PLR0913  (what is known about the file)
    probes: Probes,
    file: NodeFile,
    wish: Desired,
    *,
    proven: bool,
    had_gateway: bool = False,
    patience: float = 0.0,
) -> AsyncIterator[Probing]:
    """Yield the probes around one apply of *file*.

    *proven*: the node has worked with it; mostly it is not applied again. For a new file the probes before the apply
    begin now, beside other work. *had_gateway*: as in ``Look``. *patience*: as in ``Probes.before``, for the first try
    of a new file.
    """
    probing = Probing(probes, file, wish, proven=proven, had_gateway=had_gateway)
    if not proven:
        probing.start(0.0 if probes.has_begun(file.digest) else patience)
    try:
        yield probing
    except BaseException as error:
        probing.ended(error)
        raise
    else:
        probing.ended()
    finally:
        probing.end()


class Probing:
    """The probes around one apply."""

    def __init__(
        self, probes: Probes, file: NodeFile, wish: Desired, *, proven: bool, had_gateway: bool = False
    ) -> None:
        """Ask through *probes*, for *file*."""
        self._proven, self._had_gateway = proven, had_gateway
        self._probes = probes
        self._file = file
        self._wish = wish
        self._before = Before()
        self._running: asyncio.Task[Before] | None = None
        self._undecided: dict[str, Any] = {}
        """The report of probes that held, until it is known whether the apply is committed."""
        self.answering = ""
        """What answers after the apply, as the end of a sentence."""
        self.way_out = False
        """Whether the node had a way out before the apply."""

    def start(self, patience: float = 0.0) -> None:
        """Begin with the probes before the apply."""
        if self._probes.seconds:
            self._running = asyncio.create_task(self._probes.before(self._wish, patience))

    def end(self) -> None:
        """Ask no longer."""
        if not self._running or self._running.cancel() or self._running.cancelled():
            return
        if self._running.exception() is None and (duplicates := self._running.result().duplicates):
            duplicates.end()

    async def begin(self) -> None:
        """Return when the apply may begin.

        Raises ProbeFailed if another host is known to have an address of the file, or the NIC that is to be below the
        bridge with the way out gets no carrier; Unavailable if kernel or NetworkManager do not answer.
        """
        if not self._running:
            self.start()
        if not self._running:
            return
        before = await self._running
        look = replace(before.look, proven=self._proven, had_gateway=self._had_gateway)
        self._before = replace(before, look=self._probes.remember(self._file.digest, look, before.wish))
        await self._wait_for_carrier(before)
        if before.duplicates:
            taken = await before.duplicates.taken()
            self._refuse(Verdict(tuple(in_use(question, mac) for question, mac in taken.items()), taken=True))
        self._before = replace(self._before, leases=await self._probes.leases(before.wish))  # as late as may be
        self.way_out = self._had_gateway or self._before.look.way_out is not None

    async def _wait_for_carrier(self, before: Before) -> None:
        """Return when a link that is to be below the bridge with the way out may carry: a NIC negotiates for seconds.

        Raises ProbeFailed after `probe_timeout`, and Unavailable.
        """
        time, most = asyncio.get_running_loop().time, self._probes.seconds
        end, links = time() + most, before.snapshot.links
        logged = False
        while (found := dark_uplinks(self._before.look, before.wish.links.below, links)).failed:
            if time() >= end:
                self._refuse(Verdict(tuple(f"{text} after {most:g} s" for text in found.failed)))
            if not logged:
                text = f"{'; '.join(found.failed)}: the file waits for that for up to {most:g} s"
                log.info(text, message=Message.PROBE_SILENT, stage="nmstate")
                logged = True
            await asyncio.sleep(min(CARRIER_SECONDS, max(end - time(), 0.0)))
            links = self._probes.edges.kernel.snapshot().links

    async def accept(self) -> None:
        """Return when the apply may be committed.

        Raises ProbeFailed where the node would be cut off, or another host has an IPv6 address of the file.
        """
        if not self._probes.seconds:
            return
        look, found = await self._probes.after(self._before)
        self._report(look, found)
        for text in found.noted:
            log.warning(f"After the apply {text}", message=Message.PROBE_SILENT, stage="nmstate")
        if failure := found.failure:
            raise failure
        if said := summary(look):
            self.answering = f"; these answer: {said}"

    def _refuse(self, found: Verdict) -> None:
        """Raise ProbeFailed if *found* speaks against the apply."""
        if failure := found.failure:
            self._report(NO_LOOK, found)
            raise failure

    async def restored(self) -> None:
        """Return when the network is as before the apply, or does not come back in time."""
        await self._probes.restored(self._before)

    def ended(self, error: BaseException | None = None) -> None:
        """Report, once, whether a file whose probes held was kept: it was not where *error* ended apply or trial."""
        document, self._undecided = self._undecided, {}
        if document:
            why = [] if error is None else [self._wish.secrets.hidden_in(getattr(error, "cause", INTERRUPTED))]
            self._write(document | {"kept": error is None, "failed": why})

    def _report(self, after: Look, found: Verdict) -> None:
        document = report(self._file.name, self._before.look, after, found, self._probes.took)
        if not found.failed:
            # Not kept before the commit: a trial may hold the file for an hour, and nodenetd may be killed meanwhile.
            self._undecided = document
            document = document | {"kept": False, "failed": [UNDECIDED]}
        self._write(document)

    def _write(self, document: dict[str, Any]) -> None:
        with contextlib.suppress(PublishFailed):  # for people; nothing depends on it
            self._probes.edges.files.write(PATH, json.dumps(document, indent=1).encode() + b"\n")
