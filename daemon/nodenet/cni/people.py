"""How do people see what the service does: on the bus, in the file with the figures, and by ``nodenetctl claims``?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nodenet.cni.answers import Answers
from nodenet.cni.bus_object import BusObject
from nodenet.cni.display import Display
from nodenet.cni.service import Service
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.model import Attachment
from nodenet.edge.bus.connection import Bus
from nodenet.edge.metrics.file import MetricsFile
from nodenet.loop.background import Background


class People:
    """Shows a service; it works the same without."""

    def __init__(self, service: Service, bus: Bus, figures: MetricsFile, status: Callable[[str], object]) -> None:
        """Connect to what the service reports. *figures*: the file for a monitoring system; *status*: one line."""
        self._bus = bus
        self.answers = Answers(service.here, service.runner.run, lambda: service.problems)
        self._object = BusObject(bus, self.answers)
        self._display = Display(self.answers, [self._object.show, lambda found: status(line(found))], figures)
        service.runner.saved = self._display.changed
        service.runner.took = self.answers.figures().request
        service.verbs.counted = self._count
        service.verbs.took = self._took
        service.verbs.refused = self._refused
        service.verbs.given = self._given

    def start(self, background: Background) -> None:
        """Begin: without a bus, the file is written all the same."""
        background.start("the connection to the bus", self._bus.run)
        background.start("what is shown", self._display.run)

    def end(self) -> None:
        """Leave the figures as those of a service that has stopped."""
        self._display.end()

    def _count(self, name: str) -> None:
        self.answers.figures().counts[name] += 1
        self._display.changed()

    def _took(self, verb: Verb, seconds: float) -> None:
        self.answers.figures().verbs[verb].observe(seconds)

    def _refused(self, pod: str, cause: str) -> None:
        if pod:
            self.answers.refused(pod, cause)
            self._object.refused(pod, cause)

    def _given(self, attachment: Attachment) -> None:
        if attachment.pod is not None:
            self.answers.served(str(attachment.pod))


def line(document: Mapping[str, Any]) -> str:
    """Return what ``systemctl status`` shows of a claims document."""
    counted = f"{len(document['addresses'])} addresses"
    return f"{counted}; {'; '.join(document['problems'])}" if document["problems"] else counted
