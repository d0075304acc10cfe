"""Sources of events are listened to while a stage waits for them, and at no other time."""

from dataclasses import dataclass, field

from nodenet.core.boot.outcome import Topic
from nodenet.loop.watches import Sources


@dataclass
class Source:
    """Notes what it was asked to do."""

    calls: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")


def test_only_what_is_waited_for_is_listened_to() -> None:
    sources, kernel, ovs = Sources(), Source(), Source()
    sources.add(Topic.KERNEL, kernel)
    sources.add(Topic.OVS, ovs)
    for topics in ({Topic.KERNEL}, {Topic.KERNEL, Topic.BUS}, {Topic.OVS}, set()):
        sources.listen(topics)
    assert kernel.calls == ["start", "stop"]
    assert ovs.calls == ["start", "stop"]
