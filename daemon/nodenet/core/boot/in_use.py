"""Do kubelet and CRI-O run with what is published for them? Their processes say it, not the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.published_files import (
    CRIO,
    FLAG,
    KUBELET,
    MICROK8S,
    RANCHER,
    Publication,
    PublishedFile,
    Wiring,
    drop_in_variables,
)

PEOPLE = {
    KUBELET: "kubelet",
    CRIO: "CRI-O",
    MICROK8S: "MicroK8s",
    **{unit: unit.removesuffix(".service") for unit in RANCHER},
}
"""How sentences name the units."""
Arguments = Mapping[str, Sequence[str] | None]
"""The arguments of the kubelet that each unit runs, None where none is seen."""


def other_than_published(
    publication: Publication, environments: Mapping[str, Mapping[str, str] | None], arguments: Arguments
) -> Problem | None:
    """Return the problem of units that run with something else than the *publication*.

    *environments*: the variables of the main process of each unit, None for one that does not run. *arguments*: those
    of the kubelets that run.
    """
    wired = replace(publication, wiring=Wiring(rancher=tuple((unit, False) for unit in RANCHER)))
    running = [unit for unit in published_files.UNITS if environments.get(unit) is not None]
    return (
        two_kubelets(running)
        or not_in_use(published_files.files(wired), environments)
        or other_node_ip(arguments, publication.node_ips)
    )


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


def two_kubelets(running: Sequence[str]) -> Problem | None:
    """Return the problem of more than one *running* unit with a kubelet."""
    if len(running) < 2:
        return None
    cause = f"{len(running)} kubelets run on this node: {', '.join(running)}"
    return Problem(Message.NODE_IP_NOT_IN_USE, cause, "Keep one of them: `systemctl disable --now UNIT` for the other")


def other_node_ip(arguments: Arguments, node_ips: Sequence[IPAddress]) -> Problem | None:
    """Return the problem of a kubelet that runs with another node IP than *node_ips*, or without any."""
    wanted = ",".join(map(str, node_ips))
    for unit, words in arguments.items():
        if words is None:
            continue
        value = published_files.given(words)
        if value is None:
            cause = f"{PEOPLE[unit]} runs without {FLAG}, so that it chooses its node IP itself; published is {wanted}"
        elif not published_files.means(value, node_ips):
            cause = f"{PEOPLE[unit]} runs with {FLAG}={value}; published is {wanted}"
        else:
            continue
        return Problem(Message.NODE_IP_NOT_IN_USE, cause, _wire(unit, wanted, own=value is not None))
    return None


def _wire(unit: str, wanted: str, *, own: bool) -> str:
    """Return what lets *unit* start with *wanted*; *own*: it has a node IP of its own."""
    if unit == MICROK8S:
        change = f"Write `{FLAG}={wanted}` into `/var/snap/microk8s/current/args/kubelet`"
    elif own:
        change = f"Take {FLAG} out of the arguments that `systemctl cat {unit}` and its environment files give it"
    else:
        change = f"Add `{FLAG}=${{KUBELET_NODE_IPS}}` to ExecStart= with `systemctl edit --full {unit}`"
    return f"{change}; then drain the node, run `nodenetctl reload`, and {command(unit.removesuffix('.service'))}"


def command(units: str) -> str:
    """Return the command that lets *units* run with what is published."""
    return f"`systemctl restart {units}`"


def _difference(unit: str, name: str, published: str, value: str | None) -> str:
    if value is None:
        return f"{PEOPLE[unit]} runs without {name}={published}, which is published"
    return f"{PEOPLE[unit]} runs with {name}={value}; published is {published}"
