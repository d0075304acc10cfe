"""An apply of br-ex that fails again and again: how often it is tried, and what a later boot makes of it."""

from __future__ import annotations

import json
import time

from br_ex.test_make import BRIDGED, DHCP_ONLY, PLAIN, SETTINGS
from factories import NodeFactory
from harness import Flavour, Lan
from nodenet.core.messages import Message
from saboteur import add_saboteur
from story import causes, settle, stage, status, story

SCRIPT = """#!/bin/sh
# Keep the uplink down for the first second of br-ex: the gateway does not answer, and the apply is not accepted.
# Not longer: after the rollback br-ex is there for a moment, and the uplink would stay down.
while sleep 0.05; do
  started=$(grep -o '"started": [0-9.]*' /var/lib/nodenet/change.json 2>/dev/null) || continue
  [ "$started" = "$before" ] || { echo "apply $started"; left=20; }
  before=$started
  [ "$left" -gt 0 ] && ip link show br-ex >/dev/null 2>&1 || continue
  ip link set eth0 down
  left=$((left - 1))
done
"""
QUIET_SECONDS = 20
"""Less than the first pause between two tries, and longer than any event of the first one lasts."""
READDRESSED = """[connection]
id=eth0-new-net
uuid=2c7d1d55-63a5-4d7b-8a6e-0f2f1f9a7c01
type=ethernet
interface-name=eth0
autoconnect-priority=100
[ipv4]
method=manual
address1=10.88.0.66/24
gateway=10.88.0.1
[ipv6]
method=disabled
"""


def test_a_bridge_that_cannot_be_made(product_node: NodeFactory, lan: Lan) -> None:
    """It does not wake itself (R7); rolled back, it keeps no later boot from a profile made since (R1)."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED}, flavour=Flavour.OPENSHIFT)
    add_saboteur(node, SCRIPT)
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    assert stage(document, "configure-ovs")["status"] == "failed"
    time.sleep(QUIET_SECONDS)
    tries = [entry["MESSAGE"] for entry in node.journal("saboteur") if str(entry["MESSAGE"]).startswith("apply")]
    assert len(tries) == 1
    assert json.loads(node.run("cat /var/lib/nodenet/bridge-intent.json").stdout)["phase"] == "rolled-back"

    node.run("systemctl disable saboteur")
    node.write("/etc/NetworkManager/system-connections/eth0-new-net.nmconnection", READDRESSED, 0o600)
    node.write(SETTINGS, PLAIN)
    node.reboot()
    document = settle(node)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.66"])
    time.sleep(10)
    assert status(node)["node_ips"] == ["10.88.0.66"]
    assert node.run("nmcli -g GENERAL.CONNECTION device show eth0").stdout.strip() == "eth0-new-net"
    undone = {Message.BRIDGE_MENDED.value, Message.CHANGE_UNDONE.value}
    assert [line for line in story(node) if line.get("MESSAGE_ID") in undone] == []
    assert causes(node) == []
