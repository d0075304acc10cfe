"""Boots beside the node that installs the cluster, cables, and planned leaves that no new connection notices."""

from __future__ import annotations

import json
from pathlib import Path

from harness import Lab, Lan
from vip_rig import API, Options, Rig, has, links_with, until, weight

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
    rig = Rig(lab, lan, product, Options(spare_nic=True))
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
    move_to_the_other_nic(rig, third)


def move_to_the_other_nic(rig: Rig, holder: str) -> None:
    """The node IP goes to eth1 under the VIP: VRRP follows it, and the VIP is on no link without the node IP."""
    node = rig.nodes[holder]
    node.set_carrier("eth1", up=True)
    node.run("nmcli connection modify uplink connection.interface-name eth1; nmcli connection up uplink", timeout=60)
    node.set_carrier("eth0", up=False)
    until(lambda: "interface eth1" in node.run("cat /run/nodenet/hosted/keepalived.conf").stdout, "VRRP on eth1")
    last = rig.quiet()
    until(lambda: links_with(rig.nodes[last], API) == {"eth1" if last == holder else "eth0"}, "the VIP on its link")
    until(lambda: rig.document(last)["health"] == "ok", "health")


def test_both_families_in_fast_mode_and_a_node_in_no_list(lab: Lab, lan: Lan, product: Path) -> None:
    """A power cut moves the VIPs of both families by VRRPv3, never to a node that the cluster does not list."""
    rig = Rig(lab, lan, product, Options(nodes=4, advert=0.1, both_families=True, unlisted=1))
    rig.boot()
    *listed, stranger = rig.names
    until(lambda: {weight(rig.nodes[name]) for name in listed} == {"25"}, "the weights of all", 180)
    holder = rig.one_holder()
    text = rig.nodes[holder].run("cat /run/nodenet/hosted/keepalived.conf").stdout
    assert text.count("advert_int 0.1") == 4
    assert text.count("version 3") == 2, "IPv6 has no other version"
    six = rig.one_holder("fd88::5")
    rig.nodes[holder].power_cut()
    assert rig.moved(holder) in listed
    assert rig.one_holder("fd88::5") in listed
    assert six in listed
    assert not any(vip["candidate"] for vip in rig.document(stranger)["vips"])
    assert rig.nodes[stranger].run("systemctl show -P ActiveState nodenet-keepalived").stdout == "inactive\n"
