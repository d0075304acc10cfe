"""When does nodenet-hosted learn that the resource switches a service on or off? nodenetd writes what concerns DNS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodenet.core.hosted_services.bus import PATH
from nodenet.core.hosted_services.paths import COMPANION_NAME
from nodenet.edge.bus.connection import PROPERTIES, Bus, Signal

SWITCHES = "SwitchedOff"


def on_switch(bus: Bus, changed: Callable[[], None]) -> None:
    """Call *changed* whenever the switches of nodenet-hosted's resource differ; its cache has them by then."""

    def heard(body: Any) -> None:  # noqa: ANN401  (what is in a signal)
        if SWITCHES in body[1]:
            changed()

    bus.subscribe(Signal(COMPANION_NAME, PATH, PROPERTIES, "PropertiesChanged"), heard)
