"""MESSAGE_IDs are part of the contract: those of released events never change."""

import re
from pathlib import Path

from nodenet.core.messages import Message

CATALOG = Path(__file__).parents[2] / "units" / "nodenet.catalog"


def test_every_message_has_an_entry_in_the_catalog_and_no_entry_is_left_over() -> None:
    entries = re.findall(r"^-- ([0-9a-f]{32})$", CATALOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(entries) == sorted(message.value for message in Message)


def test_the_ids_that_administrators_filter_by_stay() -> None:
    assert Message.READY.value == "084abad42e244d4490ce4a8bb9cb85e1"
    assert Message.READY_DEGRADED.value == "a4281c8c5dd44e03aa7e0ffec982dec2"
