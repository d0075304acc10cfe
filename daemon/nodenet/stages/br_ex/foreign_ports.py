"""Which ports of other programs are on the bridges? Each is logged once in a boot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

import structlog

from nodenet.core.br_ex.condition import BridgeCondition, Rule
from nodenet.core.messages import Message
from nodenet.ports import Files

log = structlog.get_logger()

PORTS_OF_OTHERS = PurePosixPath("/run/nodenet/ports-of-others")
"""The sentences about them that are in the journal of this boot already."""


def log_ports_of_others(files: Files, found: Iterable[BridgeCondition]) -> None:
    """Log the ports that are new. Raises PublishFailed."""
    logged = (files.read(PORTS_OF_OTHERS) or b"").decode().splitlines()
    ports = [finding.sentence for item in found for finding in item.findings if finding.rule is Rule.FOREIGN_PORT]
    for sentence in ports:
        if sentence not in logged:
            log.warning(sentence, message=Message.NOTE, stage="configure-ovs")
    if ports or logged:
        files.write(PORTS_OF_OTHERS, "\n".join(ports).encode())
