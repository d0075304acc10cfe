"""VIPs of three control-plane nodes, with the real keepalived and haproxy: one holder, whatever happens."""

from __future__ import annotations

import time
from pathlib import Path

from harness import Lab, Lan
from vip_rig import API, Rig, has, until

SECOND = 1.0


def kill(rig: Rig, name: str, unit: str) -> None:
    rig.nodes[name].run(f"systemctl kill -s KILL {unit}")


def test_one_holder_through_kills_and_a_power_cut(lab: Lab, lan: Lan, product: Path) -> None:
    """The companion killed: nothing happens. keepalived killed: its VIP is gone at once. Power cut: another node."""
    rig = Rig(lab, lan, product)
    rig.boot()
    holder = rig.quiet()
    assert rig.document(holder)["health"] == "ok"

    kill(rig, holder, "nodenet-hosted")
    until(lambda: rig.nodes[holder].run("systemctl is-active nodenet-hosted", check=False).stdout == "active\n", "it")
    assert rig.one_holder() == holder

    node = rig.nodes[holder]
    began = time.monotonic()
    kill(rig, holder, "nodenet-keepalived")
    until(lambda: not has(node, API), "the VIP to go", 5)
    assert time.monotonic() - began < SECOND
    second = rig.moved(holder)
    rig.quiet()

    rig.nodes[second].power_cut()
    third = rig.moved(second)
    assert third != second
    rig.boot(second)
    assert rig.quiet() == third, "a node that was rebooted does not take the VIP back"
