"""A restart that dnsmasq needs outlives nodenetd."""

from __future__ import annotations

from fakes import FakeFiles
from nodenet.core.hosted_services.paths import OWED_RESTART
from nodenet.stages.hosted_services.node_dns import OwedRestart
from stages.hosted_services.test_node_dns import FakeTexts


def test_it_is_owed_until_it_is_done_also_by_another_nodenetd() -> None:
    disk = FakeFiles()
    first = OwedRestart(FakeTexts(disk))
    first.note(changed=False)
    assert (first.is_owed, disk.content) == (False, {})
    first.note(changed=True)
    first.note(changed=False)
    assert first.is_owed
    second = OwedRestart(FakeTexts(disk))
    second.note(changed=False)
    assert second.is_owed
    assert set(disk.content) == {str(OWED_RESTART)}
    second.done()
    third = OwedRestart(FakeTexts(disk))
    third.note(changed=False)
    assert (second.is_owed, third.is_owed, disk.content) == (False, False, {})
