"""Read the cases under ``fixtures/node_ip``: one directory each, with snapshot, policy and what must come of them.

Run as a script it writes every ``expected.json`` from what the code does now: read the difference.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.iproute import parse
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.select import Selection, select

T = TypeVar("T")
CASES = Path(__file__).parents[1] / "fixtures" / "node_ip"


@dataclass(frozen=True, slots=True)
class Case:
    """A snapshot, and everything else that a selection looks at."""

    snapshot: Snapshot
    policy: Policy
    sticky: LastPublished | None
    unbindable: frozenset[IPAddress]

    def selection(self) -> Selection:
        """Return what comes of it."""
        return select(self.snapshot, self.policy, self.sticky, self.unbindable)


def directories() -> list[Path]:
    """Return the directory of every case."""
    return sorted(path for path in CASES.iterdir() if path.is_dir())


def read_case(directory: Path) -> Case:
    """Return the case in *directory*; a key of its policy that nobody knows is an error."""
    values = tomllib.loads((directory / "policy.toml").read_text())
    sticky = values.pop("sticky", None)
    unbindable = frozenset(_addresses(values.pop("unbindable", ())))
    snapshot = parse((directory / "snapshot.json").read_bytes())
    return Case(snapshot, _policy(values), _sticky(sticky), unbindable)


def told(selection: Selection) -> dict[str, Any]:
    """Return a selection as expectations are written down: a verdict a line, without its sentence."""
    return {
        "node_ips": [str(address) for address in selection.node_ips],
        "link": selection.link,
        "matches_vip": selection.matches_vip,
        "remote_worker": selection.remote_worker,
        "verdicts": {
            f"{text(item.address)}/{item.prefix_length} {item.link}": f"{item.verdict} {item.rule}"
            for item in selection.candidates
        },
        "missing": [family.value for family in selection.missing],
        "pending": [item.reason for item in selection.pending],
        "notes": list(selection.notes),
        "waiting": selection.waiting,
    }


def shuffled(snapshot: Snapshot, chance: Random) -> Snapshot:
    """Return the same host as the kernel might list it another time."""

    def mixed(part: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(chance.sample(part, len(part)))

    return Snapshot(mixed(snapshot.links), mixed(snapshot.addresses), mixed(snapshot.routes))


def text(address: IPAddress) -> str:
    """Return an address the same under every Python: 3.13 changed how IPv4-mapped ones are written."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return f"::ffff:{mapped}" if mapped else str(address)


def _policy(values: dict[str, Any]) -> Policy:
    for key in ("api_vips", "ingress_vips"):
        values[key] = _addresses(values.get(key, ()))
    for key in ("deny_links", "route_tables"):
        if key in values:
            values[key] = tuple(values[key])
    values["stated"] = frozenset(_addresses(values.get("stated", ())))
    if "masquerade_subnets" in values:
        values["masquerade_subnets"] = tuple(map(ip_network, values["masquerade_subnets"]))
    if "families" in values:
        values["families"] = tuple(Family(name) for name in values["families"])
    reading = parse_value(values.pop("hint", ""), "policy.toml")
    assert not reading.problems
    return Policy(**values, hints=reading.hints)


def _sticky(values: dict[str, Any] | None) -> LastPublished | None:
    if values is None:
        return None
    addresses = _addresses(values.pop("addresses"))
    return LastPublished(addresses, boot_id="0123456789abcdef0123456789abcdef", **values)


def _addresses(texts: list[str] | tuple[str, ...]) -> tuple[IPAddress, ...]:
    return tuple(map(ip_address, texts))


if __name__ == "__main__":
    for case in directories():
        text_of_case = json.dumps(told(read_case(case).selection()), indent=1) + "\n"
        (case / "expected.json").write_text(text_of_case)
