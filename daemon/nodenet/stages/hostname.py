"""The hostname stage: by which name does this node find its file?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import structlog

from nodenet.core.facts import Facts
from nodenet.core.hostname import normalised, why_invalid
from nodenet.core.messages import Message
from nodenet.core.node_file import has_host_specific
from nodenet.core.outcome import Done, Outcome, Skipped, Topic, Waiting
from nodenet.ports import Files, Host

log = structlog.get_logger()


class HostnameStage:
    """Waits for a name, but only where some node file needs one, and makes it last."""

    def __init__(self, host: Host, files: Files, directory: PurePath) -> None:
        """Look for node files in *directory*."""
        self._host = host
        self._files = files
        self._directory = directory

    async def attempt(self, facts: Facts) -> Outcome:
        """Return Done with the name, Skipped when nobody needs it, Waiting while it is not known."""
        raw = self._host.name()
        name = normalised(raw)
        problem = why_invalid(name)
        if not has_host_specific(self._files.listing(self._directory)):
            known = None if problem else name
            reason = "no host-specific node file: nobody needs the name yet"
            return Skipped(reason, replace(facts, hostname=known))
        if problem:
            return Waiting(f"a host name: {raw!r} will not do, {problem}", frozenset({Topic.HOSTNAME, Topic.BUS}))
        if why := await self._host.pin(name):
            log.warning(f"The host name {name} could not be made to last: {why}", stage="hostname")
        return Done(f"This node is {name}", replace(facts, hostname=name), Message.HOSTNAME_KNOWN)
