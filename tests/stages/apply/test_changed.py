"""A change of another program has its line before it is gone."""

from __future__ import annotations

from structlog.testing import capture_logs

from fakes import BOOT_ID
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.messages import Message
from nodenet.stages.apply.history import log_changed

LEFT = {"interfaces": [{"name": "eth0", "mtu": 9000}]}
TEXT = "The network was not as an earlier boot had made it; worker-0.yml was applied again: eth0 (mtu)"


def test_what_an_earlier_boot_had_made_is_one_warning() -> None:
    """What this boot has made, or nothing has made yet, is none."""
    with capture_logs() as logs:
        for record in (None, Intent("d", Phase.GOOD, BOOT_ID, 1.0), Intent("d", Phase.GOOD, "before", 1.0)):
            log_changed(record, BOOT_ID, "worker-0.yml", LEFT, "nmstate")
    line = {"event": TEXT, "log_level": "warning", "message": Message.NETWORK_CHANGED, "stage": "nmstate"}
    assert logs == [line]
