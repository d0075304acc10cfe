"""Is it logged that a network which nodenet had made was changed, before nodenet made it again?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from nodenet.core.apply.changed import summary, was_good
from nodenet.core.apply.intent import Intent
from nodenet.core.messages import Message

log = structlog.get_logger()


def log_changed(before: Intent | None, boot_id: str, name: str, difference: Mapping[str, Any], stage: str) -> None:
    """Log that *name* was applied again because of *difference*, where *before*, its record, was a good one."""
    if was_good(before, boot_id):
        text = f"The network was not as an earlier boot had made it; {name} was applied again: {summary(difference)}"
        log.warning(text, message=Message.NETWORK_CHANGED, stage=stage)
