"""How is libnmstate called so that it can hang or crash without the daemon?

Each transaction has a child process (``edge.nmstate.worker``) that is killed at its deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.nmstate.failure import PERMANENT, FailureKind, NmstateFailure, answer_of, checkpoint_of, shaped
from nodenet.core.nmstate.state import still_asked, uplinks, without_bridges
from nodenet.core.node_file.content import secrets_in
from nodenet.core.node_file.schema import VERSION
from nodenet.core.node_file.translate import shown_words, translated
from nodenet.core.ownership.things import NO_OTHERS, Others, remaining

WORKER = Path(__file__).with_name("worker.py")
BUNDLED = str(Path(__file__).parents[3] / "bundled")
"""Where an installed tree has the libnmstate of hosts that have none."""
SHOW_SECONDS = 60.0
COMMIT_SECONDS = 30.0
ENDING_SECONDS = 1.0
"""How long a process that closed its pipe has to end by itself: its exit status says why."""
LINE_LIMIT = 16 * 1024 * 1024
"""Bytes one answer may have; the state of a node with thousands of links is a few megabytes.

Reading so much JSON holds the loop for 0.2 s.
"""


class Transaction:
    """One child process; made by ``Nmstate.transaction``."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        worked: Callable[[float], None] = lambda _: None,
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Speak to *process*; *worked* gets the seconds that it worked itself, without the work of others.

        *said* gets, without secrets, what libnmstate logged for an order that failed; else it would be noise.
        """
        self._process = process
        self._worked = worked
        self._said = said
        self._text = ""
        """The document of the last order."""
        self._made: Callable[[str], None] = lambda _: None
        """What gets the path of the checkpoint of the present apply."""

    async def validate(self, text: str) -> bool:
        """Check *text* without looking at the network; return whether no unknown key can have passed.

        The packaged libnmstate passes over unknown keys of an interface; one that is newer than our table of keys may
        know more of them. Raises NmstateFailure.
        """
        answer = await self._order(SHOW_SECONDS, order="validate", text=text)
        return bool(answer["strict"]) or _number(answer["version"]) > _number(VERSION)

    async def show(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the present state, without secrets unless they are asked for. Raises NmstateFailure."""
        return shaped(await self._order(SHOW_SECONDS, order="show", secrets=secrets))

    async def difference(self, text: str, others: Others = NO_OTHERS) -> dict[str, Any]:
        """Return what *text* asks for beyond the present state; empty: nothing. Raises NmstateFailure.

        What *others* have added is no difference.
        """
        if others:
            return await self.compare(text, await self.show(secrets=True), others)
        result = await self._order(SHOW_SECONDS, order="difference", text=text)
        return remaining(shaped(result["difference"]), shaped({"routes": result["routes"]}))

    async def difference_below(self, text: str, bridges: Collection[str], others: Others = NO_OTHERS) -> dict[str, Any]:
        """Return the same, less the IP configuration of links below *bridges*. Raises NmstateFailure."""
        state = await self.show(secrets=True)  # hidden ones would differ from the file's
        found = await self.compare(text, without_bridges(state, bridges), others)
        return still_asked(found, uplinks(state, bridges))

    async def compare(self, text: str, state: Mapping[str, Any], others: Others = NO_OTHERS) -> dict[str, Any]:
        """Return what *text* asks for beyond *state*, which may be any host's. Raises NmstateFailure."""
        found = await self._order(SHOW_SECONDS, order="compare", text=text, state=state)
        return remaining(shaped(found), shaped(state), others)

    async def of_policy(self, text: str, filled: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the policy *text* asks for beyond *state*; its document there is *filled*.

        Raises NmstateFailure, also if libnmstate resolves the policy to another document.
        """
        found = await self._order(SHOW_SECONDS, order="of_policy", text=text, filled=filled, state=state)
        if found is None:
            cause = "libnmstate makes another document of this policy than nodenet does"
            remedy = "Write the document itself into the node file: `nmstatectl policy FILE` prints it"
            raise NmstateFailure(FailureKind.INVALID, cause, remedy)
        return shaped(found)

    async def configurations(self, text: str) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return name and content of the keyfiles for *text*, and what libnmstate warned of. Raises NmstateFailure."""
        found = await self._order(SHOW_SECONDS, order="configurations", text=text)
        return dict(found["files"]), tuple(found["said"])

    async def apply(
        self,
        text: str,
        rollback_timeout: int,
        seconds: float,
        made: Callable[[str], None] = lambda _: None,
        patched: Collection[str] = (),
    ) -> str | None:
        """Apply *text*, verified but uncommitted; return the checkpoint's path if the binding returns it.

        *made* gets that path as soon as libnmstate logs it: nodenet's binding when the checkpoint is made, the packaged
        one when the apply has ended, well or not. The bridges *patched* keep the patch ports that other programs made.
        Raises NmstateFailure; unless its kind is ``killed`` or ``died``, libnmstate has rolled back already.
        """
        request = {"order": "apply", "text": text, "rollback_timeout": rollback_timeout, "permanent": PERMANENT}
        request |= {"patched": sorted(patched)}
        self._made = made
        checkpoint = await self._order(seconds, **request)
        return None if checkpoint is None else str(checkpoint)

    async def commit(self, checkpoint: str | None) -> None:
        """Make the applied state last. Raises NmstateFailure."""
        await self._order(COMMIT_SECONDS, order="commit", checkpoint=checkpoint)

    async def _order(self, seconds: float, **request: object) -> Any:  # noqa: ANN401  (JSON)
        began = time.monotonic()
        self._text = str(request.get("text", self._text))
        try:
            async with asyncio.timeout(seconds):
                line = await self._exchange(json.dumps(request))
        except asyncio.CancelledError:
            await self.end()
            raise
        except TimeoutError as error:
            await self.end()
            raise NmstateFailure(
                FailureKind.KILLED, f"libnmstate did not finish `{request['order']}` within {seconds:g} s"
            ) from error
        except OSError:  # its pipe is gone
            line = b""
        except ValueError as error:
            await self.end()
            text = f"the answer of libnmstate to `{request['order']}` is larger than {LINE_LIMIT >> 20} MiB"
            raise NmstateFailure(FailureKind.DIED, text) from error
        answer = answer_of(line)
        if answer is None:
            # Whatever it left on the pipe, it cannot be asked again.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._process.wait()
            await self.end()
            code = self._process.returncode
            raise NmstateFailure(FailureKind.DIED, f"the process that runs libnmstate died ({_ended(code)})")
        self._worked(time.monotonic() - began - answer.elsewhere)
        if answer.failure:
            raise await self._translated(answer.failure, answer.said)
        return answer.result

    async def _translated(self, failure: tuple[FailureKind, str], lines: Collection[str]) -> NmstateFailure:
        """Return the failure in words for an administrator; pass on what was logged. Both may quote the document.

        Where its secrets cannot be known, nothing that may be quoted from it is passed on.
        """
        kind, words = failure
        if kind in (FailureKind.MISSING, FailureKind.UNLOADED):
            return NmstateFailure(kind, words)
        try:
            secrets = await asyncio.to_thread(secrets_in, self._text)
        except NodeFileInvalid as error:
            return NmstateFailure(kind, f"libnmstate refused a document that cannot be read: {error.cause}")
        for line in lines:
            self._said(shown_words(secrets.hidden_in(line)))
        said = secrets.hidden_in(words)
        return NmstateFailure(kind, *translated(said), said)

    async def _exchange(self, request: str) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise OSError("the child has no pipes")
        stdin.write(request.encode() + b"\n")
        await stdin.drain()
        while (path := checkpoint_of(line := await stdout.readline())) is not None:
            self._made(path)
        return line

    async def end(self) -> None:
        """End the process, whatever it is doing."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Nmstate:
    """libnmstate, at arm's length."""

    def __init__(
        self,
        library_path: tuple[str, ...] = (BUNDLED,),
        worked: Callable[[float], None] = lambda _: None,
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Add *library_path* behind the daemon's own import path: a packaged libnmstate goes first.

        *worked* gets the seconds that children worked themselves, *said* what libnmstate logged for failed orders.
        """
        self._worked = worked
        self._said = said
        self._path = os.pathsep.join((*sys.path, *library_path))
        self._warm: asyncio.Task[asyncio.subprocess.Process] | None = None

    def warm(self) -> None:
        """Start the first child now: it comes up while the daemon looks for bus, name and file (25 ms)."""
        self._warm = asyncio.ensure_future(self._start())

    async def close(self) -> None:
        """End a child that was started and never needed."""
        if warm := self._take_warm():
            await Transaction(await warm).end()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Start a child process, or take the one that is warm, and see to its end."""
        process = await (self._take_warm() or self._start())
        transaction = Transaction(process, self._worked, self._said)
        try:
            yield transaction
        finally:
            await transaction.end()

    def _take_warm(self) -> asyncio.Task[asyncio.subprocess.Process] | None:
        warm, self._warm = self._warm, None
        return warm

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-X", "utf8"),  # a bundled Python does not have every locale's encoding
            str(WORKER),
            self._path,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT,
        )


def _ended(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
