"""Boots beside the node that installs the cluster, cables, and planned leaves that no new connection notices."""

from __future__ import annotations

import json
from pathlib import Path

from harness import Lab, Lan
from vip_rig import API, Options, Rig, has, until

CLIENT = r"""
import json, socket, sys, time
address, output = sys.argv[1], sys.argv[2]
failed, count, began = [], 0, time.monotonic()
while True:
    at = time.monotonic()
    try:
        socket.create_connection((address, 6443), 2.5).close()
    except OSError as error:
        failed.append((round(at - began, 2), str(error)))
    count += 1
    with open(output + ".new", "w") as file:
        json.dump({"count": count, "failed": failed}, file)
    import os
    os.rename(output + ".new", output)
    time.sleep(max(0, 0.01 - (time.monotonic() - at)))
"""


def test_the_installer_first_a_stale_vip_a_cable_and_a_planned_leave(
    lab: Lab, lan: Lan, product: Path, tmp_path: Path
) -> None:
    rig = Rig(lab, lan, product)
    lan.run("ip", "address", "add", f"{API}/32", "dev", "br0")
    rig.boot()
    for name in rig.names:
        until(lambda name=name: rig.document(name).get("phase") == "StayingOut", f"{name} to stay out")  # type: ignore[misc]
    assert rig.holders() == []
    lan.run("ip", "address", "delete", f"{API}/32", "dev", "br0")
    first = rig.quiet()

    rig.nodes[first].set_carrier("eth0", up=False)
    second = rig.moved(first)
    rig.nodes[first].set_carrier("eth0", up=True)
    assert rig.quiet() == second

    idle = next(name for name in rig.names if name != second)
    rig.nodes[idle].run("systemctl stop nodenet-hosted nodenet-keepalived")
    rig.nodes[idle].run(f"ip address add {API}/24 dev eth0")
    rig.nodes[idle].run("systemctl start nodenet-hosted")
    until(lambda: not has(rig.nodes[idle], API), "the stale VIP to go")
    assert rig.quiet() == second

    result = tmp_path / "client.json"
    script = tmp_path / "client.py"
    script.write_text(CLIENT)
    client = lan.start("python3", script, API, result, output=tmp_path / "client.log")
    until(lambda: result.exists() and json.loads(result.read_text())["count"] > 50, "the client")
    before = json.loads(result.read_text())["failed"]
    done = rig.nodes[second].run(["nodenetctl", "hosted", "drain"], timeout=60)
    assert done.stdout == "This node is drained: other nodes hold its VIPs.\n"
    third = rig.moved(second)
    until(
        lambda: rig.nodes[second].run("systemctl is-active nodenet-haproxy", check=False).stdout != "active\n",
        "haproxy",
    )
    count = json.loads(result.read_text())["count"]
    until(lambda: json.loads(result.read_text())["count"] > count + 100, "a second more")
    client.terminate()
    client.wait()
    assert json.loads(result.read_text())["failed"] == before == []
    assert rig.document(second)["phase"] == "Draining"
    rig.nodes[second].run(["nodenetctl", "hosted", "undrain"])
    assert rig.quiet() == third


def test_both_families_in_fast_mode(lab: Lab, lan: Lan, product: Path) -> None:
    """A power cut moves the VIPs of both families, in less than a second as seen by the kernel of the next holder."""
    rig = Rig(lab, lan, product, Options(advert=0.1, both_families=True))
    rig.boot()
    holder = rig.quiet()
    six = rig.one_holder("fd88::5")
    rig.nodes[holder].power_cut()
    assert rig.moved(holder) != holder
    assert rig.one_holder("fd88::5") in rig.names
    assert six in rig.names
