"""How are thousands of node files judged quickly? In several processes, each with its own libnmstate."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli.day_one import folder
from nodenet.core.day_one import reading
from nodenet.core.day_one.early import early
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.found import Found, of
from nodenet.core.day_one.host_rules import of_network_config
from nodenet.core.day_one.hosts import Host
from nodenet.core.day_one.node_rules import Judgement, Step, Summary, judge
from nodenet.core.day_one.rules import Rule
from nodenet.core.errors import NodeFileInvalid, Unavailable, UsageInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.finding import Severity
from nodenet.core.node_file.secret import secrets_of
from nodenet.core.node_file.translate import finding_of
from nodenet.core.node_file.yaml_text import Block
from nodenet.core.value import frozen

if TYPE_CHECKING:
    from nodenet.edge.nmstate.client import Transaction

SIZE = 100
"""Files that one process judges at a time: large enough for the start of a libnmstate, small enough for a bar."""
MOST_PROCESSES = 8


@frozen
class Task:
    """One file to judge: its name in the folder, where it is, how findings name it."""

    name: str
    path: Path
    shown: str


@frozen
class Result:
    """The result for one file; *summary* None: it could not be read as a node file."""

    name: str
    findings: tuple[Found, ...]
    summary: Summary | None = None


def judged(tasks: Sequence[Task], step: Step, done: Callable[[int], None]) -> Iterator[Result]:
    """Yield the result of each task, in any order; *done* is called with how many more are over. Raises Unavailable."""
    batches = [tasks[start : start + SIZE] for start in range(0, len(tasks), SIZE)]
    processes = min(os.cpu_count() or 1, MOST_PROCESSES, len(batches))
    if processes < 2:
        for batch in batches:
            yield from batch_of(batch, step)
            done(len(batch))
        return
    with ProcessPoolExecutor(processes, get_context("fork"), _ignore_interrupt) as pool:
        try:
            for future in as_completed([pool.submit(batch_of, batch, step) for batch in batches]):
                results = future.result()
                done(len(results))
                yield from results
        except BrokenProcessPool:
            raise Unavailable(
                "a process of the check was killed", remedy="Look at `journalctl -k` for memory"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def batch_of(tasks: Sequence[Task], step: Step) -> list[Result]:
    """Return the results of some files. Raises Unavailable when libnmstate cannot be asked."""
    return asyncio.run(_batch(tasks, step))


def network_configs(hosts: Sequence[Host]) -> list[Found]:
    """Return what is wrong with the ``networkConfig`` of each host; libnmstate is asked, too. Raises Unavailable."""
    own = [host for host in hosts if host.network_config is not None]
    return asyncio.run(_network_configs(own)) if own else []


async def _network_configs(own: Sequence[Host]) -> list[Found]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    found: list[Found] = []
    async with Nmstate().transaction() as transaction:
        for host in own:
            document = host.network_config
            judged = of_network_config(host)
            found += judged
            if not isinstance(document, Block):
                continue
            content = json.dumps(reading.values(document)).encode()
            known = Judgement(tuple(judged), document=document)
            said = await from_libnmstate(host.file, content, known, Step.FIRST, transaction)
            place = document.line, document.column
            found += [each if each.line else replace(each, line=place[0], column=place[1]) for each in said]
    return found


def _ignore_interrupt() -> None:
    """Leave Ctrl+C to the parent, here and in the children: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


async def _batch(tasks: Sequence[Task], step: Step) -> list[Result]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    async with Nmstate().transaction() as transaction:
        return [await _result(task, step, transaction) for task in tasks]


async def _result(task: Task, step: Step, transaction: Transaction) -> Result:
    try:
        content = folder.read_bytes(task.path)
    except NodeFileInvalid as error:
        return Result(task.name, (Found(Rule.TOO_LARGE, task.shown, _about(error.cause, task), error.remedy),))
    except UsageInvalid as error:
        remedy = error.remedy or "Correct its permissions, or remove it"
        return Result(task.name, (Found(Rule.UNREADABLE, task.shown, _about(error.cause, task), remedy),))
    known = judge(task.shown, content, step)
    found = [*known.findings, *await from_libnmstate(task.shown, content, known, step, transaction)]
    return Result(task.name, tuple(found), known.summary)


def _about(cause: str, task: Task) -> str:
    return cause.removeprefix(f"{task.path} ")


async def from_libnmstate(
    file: str, content: bytes, known: Judgement, step: Step, transaction: Transaction
) -> list[Found]:
    """Return libnmstate's findings about a document that breaks none of our rules. Raises Unavailable."""
    document = known.document
    if document is None or any(each.severity is Severity.ERROR for each in known.findings):
        return []
    found: list[Found] = []
    try:
        if step is not Step.FIRST:
            await transaction.validate(content.decode())
        if step is not Step.SECOND:
            first = json.dumps(early(reading.values(document))) if step is Step.BOTH else content.decode()
            files, said = await transaction.configurations(first)
            warned = ("", "Write into the file what is assumed")
            found += [Found(Rule.STEP_ASSUMED, file, line or warned[0], warned[1]) for line in said]
            if not files:
                cause = "libnmstate generates no keyfile from the document"
                found.append(Found(Rule.STEP_EMPTY, file, cause, "Name at least one interface that is up"))
    except ArtefactInvalid:
        return found  # said by the rules
    except NmstateFailure as failure:
        if failure.kind is not FailureKind.INVALID:
            raise Unavailable(f"{file} cannot be checked: {failure.cause}", remedy=failure.remedy) from failure
        return [*of(Rule.NMSTATE_REFUSED, file, [finding_of(failure, document, secrets_of(document))])]
    return found
