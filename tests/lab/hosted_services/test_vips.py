"""VIPs of three control-plane nodes, with the real keepalived and haproxy: one holder, whatever happens."""

from __future__ import annotations

import math
import time
from pathlib import Path

from harness import Lab, Lan
from vip_rig import API, Rig, has, until

SECONDS = 3.0
"""systemd takes the VIP off; peers with one second between two advertisements take it after three."""
ATTEMPTS = 2
"""The quickest one counts: on a machine that is busy with other nodes, a look alone may take as long."""


def kill(rig: Rig, name: str, unit: str) -> None:
    rig.nodes[name].run(f"systemctl kill -s KILL {unit}")


def killed(rig: Rig, holder: str) -> tuple[float, str]:
    """Kill keepalived of the holder; return the seconds until its VIP was gone, and the next holder."""
    kill(rig, holder, "nodenet-keepalived")
    began = time.monotonic()
    until(lambda: not has(rig.nodes[holder], API), "the VIP to go")
    took = time.monotonic() - began
    following = rig.moved(holder)
    rig.quiet()
    return took, following


def test_one_holder_through_kills_and_a_power_cut(lab: Lab, lan: Lan, product: Path) -> None:
    """The companion killed: nothing. keepalived killed: its VIP goes before a peer has it. Power cut: another node."""
    rig = Rig(lab, lan, product)
    rig.boot()
    holder = rig.quiet()
    until(lambda: rig.document(holder)["health"] == "ok", "health")
    held = ["grep", "-q", '^nodenet_hosted_vip_here{.*purpose="api"} 1$', "/run/nodenet/hosted.prom"]
    until(lambda: rig.nodes[holder].run(held, check=False).returncode == 0, "the metric of the holder")

    kill(rig, holder, "nodenet-hosted")
    until(lambda: rig.nodes[holder].run("systemctl is-active nodenet-hosted", check=False).stdout == "active\n", "it")
    assert rig.one_holder() == holder
    lowered = "journalctl -b -t nodenet-hosted | grep -c 'weight of this node for the api VIPs is 0'"
    assert rig.nodes[holder].run(lowered, check=False).stdout == "1\n", "at the boot, and not at the restart"

    second, quickest = holder, math.inf
    for _ in range(ATTEMPTS):
        took, second = killed(rig, second)
        quickest = min(quickest, took)
    assert quickest < SECONDS

    rig.nodes[second].power_cut()
    third = rig.moved(second)
    assert third != second
    rig.boot(second)
    assert rig.quiet() == third, "a node that was rebooted does not take the VIP back"
