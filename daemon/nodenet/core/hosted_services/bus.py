"""What does nodenet-hosted offer on the bus? The contract is ``units/dbus/org.nodenet1.Hosted.xml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.hosted_services.paths import COMPANION_NAME
from nodenet.core.status.bus_interfaces import Interface

PATH = "/org/nodenet1/hosted"
HOSTED = Interface(
    COMPANION_NAME,
    properties={
        "Node": "s",
        "Mode": "s",
        "Phase": "s",
        "Health": "s",
        "ApiInt": "as",
        "Vips": "a(ssbas)",
        "Services": "a(sbbs)",
        "Problems": "as",
        "SwitchedOff": "as",
    },
    methods={"GetStatus": ("", "s"), "Explain": ("s", "s"), "Drain": ("", "b"), "Undrain": ("", "")},
    signals={"VipChanged": "sbas"},
    mutators=frozenset({"Drain", "Undrain"}),
)
OBJECTS = {PATH: (HOSTED, None)}
"""Object path → its interface; no stage has an object here."""


def values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that a report's *document* has; absent texts are empty."""
    return {
        "Node": document["node"],
        "Mode": document["mode"],
        "Phase": document["phase"],
        "Health": document["health"],
        "ApiInt": document["api_int"]["addresses"],
        "Vips": [[vip["address"], vip["purpose"], vip["here"], vip["holders"]] for vip in document["vips"]],
        "Services": [
            [service["name"], service["wanted"], service["running"], service["problem"] or ""]
            for service in document["services"]
        ],
        "Problems": document["problems"],
        "SwitchedOff": document["switched_off"],
    }


def signals(before: Mapping[str, Any], document: Mapping[str, Any]) -> list[list[Any]]:
    """Return the body of ``VipChanged`` for each VIP whose holders differ: address, whether it is here, the holders."""
    known = {vip["address"]: vip for vip in before["vips"]}
    return [
        [vip["address"], vip["here"], vip["holders"]]
        for vip in document["vips"]
        if known.get(vip["address"], {}).get("holders") != vip["holders"]
    ]
