"""Do kubelet and CRI-O run with what is published for them? Their processes say it, not the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.core.node_ip.environment import drop_in_variables
from nodenet.core.node_ip.published_files import CRIO, KUBELET, PublishedFile

PEOPLE = {KUBELET: "kubelet", CRIO: "CRI-O"}
"""How sentences name the units."""


def not_in_use(
    published: Iterable[PublishedFile], environments: Mapping[str, Mapping[str, str] | None]
) -> Problem | None:
    """Return the problem of units that run with other values than those of their *published* drop-ins.

    *environments*: the variables of the main process of each unit, None for one that does not run.
    """
    found: dict[str, str] = {}
    for file in published:
        runs_with = environments.get(file.unit or "")
        if file.unit is None or runs_with is None:
            continue
        for name, value in drop_in_variables(file.content or b"").items():
            if runs_with.get(name) != value:
                found.setdefault(file.unit, _difference(file.unit, name, value, runs_with.get(name)))
    if not found:
        return None
    units = " ".join(unit.removesuffix(".service") for unit in sorted(found))  # CRI-O comes before kubelet
    return Problem(Message.NODE_IP_NOT_IN_USE, "; ".join(found.values()), f"Drain the node; {command(units)}")


def command(units: str) -> str:
    """Return the command that lets *units* run with what is published."""
    return f"`systemctl restart {units}`"


def _difference(unit: str, name: str, published: str, value: str | None) -> str:
    if value is None:
        return f"{PEOPLE[unit]} runs without {name}={published}, which is published"
    return f"{PEOPLE[unit]} runs with {name}={value}; published is {published}"
