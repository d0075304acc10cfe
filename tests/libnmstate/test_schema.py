"""Our table of NMState's keys, held against the crate at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import libnmstate
from libnmstate.error import NmstateError
from nodenet.core.node_file import schema

STRANGER = "zz-stranger"
OPEN = {"veth", "ovs-bond-port", "qos", "dispatch", "802.1x", "bond-port", "bridge-mapping", "ovs-db"}
"""Sections whose structs name no keys in their errors."""
SHARED = {"bridge", "bridge-options", "bridge-port", "ip"}
"""Sections that have the keys of several of the crate's structs."""


def ways(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of keys to a section, the shortest first."""
    paths: dict[str, tuple[str, ...]] = {schema.STATE: ()}
    queue = [schema.STATE]
    while queue:
        above = queue.pop(0)
        for key, kind in schema.section(above).items():
            below = kind.strip("[]@")
            if "@" in kind and below not in paths:
                paths[below] = (*paths[above], key + ("[]" if kind.startswith("[") else ""))
                queue.append(below)
    yield paths[name]


def document(path: tuple[str, ...], key: str) -> dict[str, Any]:
    inner: Any = {key: None}
    for step in reversed(path):
        name = step.removesuffix("[]")
        inner = {name: [inner] if step.endswith("[]") else inner}
        if name == "interfaces":
            inner["interfaces"][0] |= {"name": "x0"}
    return inner  # type: ignore[no-any-return]


KINDS = {
    "bond": "bond", "bridge": "ovs-bridge", "dpdk": "ovs-interface", "ethernet": "ethernet", "hsr": "hsr",
    "infiniband": "infiniband", "ip-tunnel": "ip-tunnel", "ipvlan": "ipvlan", "libreswan": "ipsec",
    "link-aggregation": "bond", "mac-vlan": "mac-vlan", "macsec": "macsec", "patch": "ovs-interface", "veth": "veth",
    "vlan": "vlan", "vrf": "vrf", "vxlan": "vxlan",
}  # fmt: skip


def complaint(name: str, key: str, kind: str | None = None) -> str:
    (path,) = ways(name)
    state = document(path, key)
    if "interfaces" in state and len(path) > 1:
        first = path[1].removesuffix("[]")
        state["interfaces"][0]["type"] = kind or KINDS.get(first, "dummy")
    try:
        libnmstate.validate(state)
    except NmstateError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", [name for name in schema.sections() if name not in OPEN | SHARED | {"interface"}])
def test_the_table_has_the_keys_that_the_crate_names(name: str) -> None:
    """A newer crate with another key fails here; the table is what `nodenetctl check` offers as meant."""
    said = complaint(name, STRANGER)
    named = set(re.findall(r"`([^`]*)`", said.partition("expected")[2]))
    assert named == set(schema.section(name)), said


@pytest.mark.parametrize("name", [name for name in schema.sections() if name not in SHARED])
def test_the_crate_knows_every_key_of_the_table(name: str) -> None:
    """What it does not know is a mistake of ours: `check` would call a wrong key good."""
    unknown = [key for key in schema.section(name) if f"unknown field `{key}`" in complaint(name, key)]
    sections_of_types = [key for key in unknown if key in KINDS or key == "mac-vtap"]
    assert unknown == (sections_of_types if name == "interface" else [])


@pytest.mark.parametrize("name", sorted(SHARED))
def test_some_struct_of_the_crate_knows_each_key_of_a_shared_section(name: str) -> None:
    """Bridges of Linux and of Open vSwitch, IPv4 and IPv6."""
    kinds = ("ovs-bridge", "linux-bridge")
    unknown = [
        key
        for key in schema.section(name)
        if all(f"unknown field `{key}`" in complaint(name, key, kind) for kind in kinds)
    ]
    assert unknown == []
