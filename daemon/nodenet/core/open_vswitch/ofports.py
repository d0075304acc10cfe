"""Which OpenFlow port number does each link of the host keep on its bridge?

Open vSwitch gives a port the next free number each time that NetworkManager makes it again: at its restart, at an
activation, at a boot. OVN-Kubernetes has the number of the uplink in its flows, and exits when it changes. So each link
asks for the number it had first (``ofport_request``, ovs-vswitchd.conf.db(5)).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from nodenet.core.open_vswitch.bridges import PHYSICAL, OvsBridge, OvsInterface

Numbers = Mapping[str, Mapping[str, int]]
"""Bridge → link → number."""
MOST = 65_279
"""The largest number that a port may ask for."""


def kept(bridges: Iterable[OvsBridge], known: Numbers) -> dict[str, dict[str, int]]:
    """Return the numbers to ask for: those *known*, the one of a link that is gone for the link in its place.

    A link of which nothing is known keeps the number it has. A bridge that does not exist at the moment keeps its own.
    The only link of a bridge has the first number, also if it was a leg of a bond of Open vSwitch before.
    """
    found = {bridge: dict(numbers) for bridge, numbers in known.items()}
    for bridge in bridges:
        links = links_of(bridge)
        before = found.get(bridge.name, {})
        free = [number for link, number in sorted(before.items()) if link not in links]
        now = {link: before[link] for link in links if link in before}
        for link, item in links.items():
            if link not in now and (number := free.pop(0) if free else item.ofport):
                now[link] = number
        if before and (only := _only_port(bridge, links)):
            now[only] = min(before.values())
        if links and now:
            found[bridge.name] = now
    return found


def handed_over(bridge: OvsBridge, known: Numbers) -> dict[str, int]:
    """Return the links that have come to *bridge* in the place of others, with the numbers that these have left."""
    numbers, links = known.get(bridge.name, {}), links_of(bridge)
    now = kept([bridge], known).get(bridge.name, {})
    left = {number for link, number in numbers.items() if link not in links}
    return {
        link: number
        for link, number in now.items()
        if number != numbers.get(link) and number in left and links[link].ofport_request != number
    }


def links_of(bridge: OvsBridge) -> dict[str, OvsInterface]:
    """Return the links of the host that NetworkManager has made ports of *bridge*, in order of their names."""
    items = [item for port in bridge.ports if port.by_network_manager for item in port.interfaces]
    outside = [item for item in items if item.kind in PHYSICAL and item.name != bridge.name]
    return {item.name: item for item in sorted(outside, key=lambda each: each.name)}


def _only_port(bridge: OvsBridge, links: Mapping[str, OvsInterface]) -> str | None:
    """Return the link that is alone below *bridge*, and no leg of a bond, which may lack the others for a while."""
    return next((port.name for port in bridge.ports if links.keys() == {port.name}), None)


def render(numbers: Numbers) -> bytes:
    """Return the numbers as they are stored."""
    return json.dumps({"version": 1, "ofports": numbers}, indent=1, sort_keys=True).encode() + b"\n"


def parse(content: bytes) -> dict[str, dict[str, int]]:
    """Return the numbers from their bytes. Raises ValueError."""
    try:
        found = json.loads(content)["ofports"]
        return {str(bridge): {str(link): _number(one) for link, one in of.items()} for bridge, of in found.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no numbers of ports: {error}") from error


def _number(value: object) -> int:
    if isinstance(value, int) and 0 < value <= MOST:
        return value
    raise ValueError(f"{value!r} is no number of a port")
