"""Which sources of events does the daemon listen to? Only those for which a stage waits: listening has a cost."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from nodenet.core.boot.outcome import Topic
from nodenet.ports import Source


class Sources:
    """The sources of events, by topic."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: dict[Topic, Source] = {}
        self._listening: frozenset[Topic] = frozenset()

    def add(self, topic: Topic, source: Source) -> None:
        """Take events of *topic* from *source*, once a stage waits for them."""
        self._all[topic] = source

    def listen(self, topics: AbstractSet[Topic]) -> None:
        """Listen to the sources of *topics* and to no other."""
        wanted = frozenset(topics & self._all.keys())
        for topic in wanted - self._listening:
            self._all[topic].start()
        for topic in self._listening - wanted:
            self._all[topic].stop()
        self._listening = wanted
