"""Nodes as an adoption finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from nodenet.core.adoption.former_chain import NODENETD, RESOLVER_PATH, drop_ins
from nodenet.core.adoption.steps import AdoptionFacts, SeenBridge, UnitState
from nodenet.core.br_ex.condition import Owner

OLD = SeenBridge("br-ex", Owner.OLD_SCRIPT, "eth0", (), ("a", "b"))
OURS = SeenBridge("br-ex", Owner.OURS, "eth0", ("a", "b"), ())
TARGET = ("kubelet-dependencies.target",)
UNITS: Mapping[str, UnitState] = {
    "nodeip-configuration.service": UnitState("loaded", "inactive", "enabled", starters=TARGET),
    "ovs-configuration.service": UnitState("loaded", "inactive", "enabled", starters=TARGET),
    RESOLVER_PATH: UnitState("loaded", "active", "enabled"),
    NODENETD: UnitState("loaded", "inactive", "disabled"),
}
FORMER = (RESOLVER_PATH, "nodeip-configuration.service", "ovs-configuration.service")
PATHS = tuple(str(path) for path in drop_ins(FORMER))
BEFORE = AdoptionFacts(
    units=UNITS,
    missing=PATHS,
    network_type="OVNKubernetes",
    vips=True,
    published=(ip_address("192.0.2.9"),),
    addresses=frozenset({ip_address("192.0.2.9"), ip_address("127.0.0.1")}),
    bridges=(OLD,),
    remembered=True,
)
"""A node of the former chain, on which nodenet is installed."""


def with_units(facts: AdoptionFacts, **states: UnitState) -> AdoptionFacts:
    """Return *facts* with other units; `__` in a name stands for a dot, `_` for a dash."""
    named = {name.replace("__", ".").replace("_", "-"): state for name, state in states.items()}
    return replace(facts, units={**facts.units, **named})


def adopted(**more: Any) -> AdoptionFacts:
    """Return the node after an adoption and a boot."""
    running = UnitState("loaded", "active", "enabled")
    idle = UnitState("loaded", "inactive", "enabled")
    facts = with_units(BEFORE, nodenetd__service=running, on_prem_resolv_prepender__path=idle)
    return replace(facts, **{"marker": True, "missing": (), "present": PATHS, "bridges": (OURS,), **more})
