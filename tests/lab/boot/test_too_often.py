"""What comes too often for a booted node: events, failures of one stage, and sockets that take every port."""

from __future__ import annotations

import time

from br_ex.test_make import BRIDGED, DHCP_ONLY, SETTINGS
from chain import chain_node, hold_vips
from factories import NodeFactory
from harness import Flavour, Lan, Node
from harness.product import PACKAGES
from story import causes, settle, stage, status, story

STORM = f"""#!/usr/bin/python3
# Change NetworkManager's DNS configuration as fast as it can: each change is an event for who watches DNS.
import asyncio, sys
sys.path.insert(0, "{PACKAGES}")
from dbus_next import BusType, Message, Variant
from dbus_next.aio import MessageBus

NAME, PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"

async def main():
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    seen = [0]
    def count(message):
        if message.path == PATH + "/DnsManager" and message.member == "PropertiesChanged":
            seen[0] += 1
            if seen[0] % 100 == 0:
                open("/run/lab-storm", "w").write(str(seen[0]))
    bus.add_message_handler(count)
    rule = f"type='signal',sender='{{NAME}}',path='{{PATH}}/DnsManager'"
    dbus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    await bus.call(Message(*dbus, "AddMatch", signature="s", body=[rule]))
    async def change(number):
        dns = {{"searches": Variant("as", ["example.com", f"storm{{number % 2}}.example.com"])}}
        wanted = [NAME, "GlobalDnsConfiguration", Variant("a{{sv}}", dns)]
        call = Message(NAME, PATH, "org.freedesktop.DBus.Properties", "Set", signature="ssv", body=wanted)
        return (await bus.call(call)).error_name
    while True:
        # Several at once: who asks NetworkManager waits behind them, and meets the next event before its answer.
        if any(await asyncio.gather(*(change(number) for number in range(16)))):
            await asyncio.sleep(0.1)

asyncio.run(main())
"""
STORM_UNIT = """[Unit]
DefaultDependencies=no
Wants=dbus.socket
After=dbus.socket
StartLimitIntervalSec=0
[Service]
ExecStart=/usr/local/libexec/storm
Restart=always
RestartSec=0.2
[Install]
WantedBy=sysinit.target
"""


SECONDS = 5
LOOKS = "--match=\"type='method_call',path='/org/freedesktop/NetworkManager/DnsManager',member='GetAll'\""
"""Each look of nodenetd at DNS that follows an event."""


def events(node: Node) -> int:
    """Return how many events of DNS the storm has made so far."""
    return int(node.run("cat /run/lab-storm 2>/dev/null || echo 0").stdout)


def restarts(node: Node) -> str:
    return node.run("systemctl show -p NRestarts --value nodenetd").stdout.strip()


def test_a_storm_of_events_does_not_keep_the_boot_from_its_end(product_node: NodeFactory, lan: Lan) -> None:
    """Each event is a look at DNS: the stages behind it have their turns, and the looks are bounded (R9)."""
    lan.start_dhcp(DHCP_ONLY)
    hold_vips(lan)
    node = chain_node(product_node, files={"/etc/systemd/system/storm.service": STORM_UNIT})
    node.write("/usr/local/libexec/storm", STORM, 0o755)
    node.enable("storm.service")
    node.boot()
    document = settle(node, timeout=120)
    assert (document["ready"], document["link"]) == (True, "br-ex")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    before = events(node)
    looks = int(node.run(f"timeout {SECONDS} busctl monitor {LOOKS} 2>/dev/null | grep -c Type=method_call").stdout)
    assert events(node) - before > 30 * SECONDS, "the storm still blows"
    assert 1 <= looks <= 12 * SECONDS
    assert restarts(node) == "0"


LOOK_SECONDS = 17
"""A little more than the pause between two looks at the published node IPs: half of WatchdogSec=."""
INTENT = "/var/lib/nodenet/bridge-intent.json"
AGAIN = """
for number in $(seq 300); do
  busctl call org.nodenet1 /org/nodenet1 org.nodenet1.Manager RunStage s configure-ovs
done
"""
FAILURES = 1030
"""So many failures in a row made 2.0 ** failures too large for a float."""


def failures(node: Node) -> int:
    """Return how many failures of configure-ovs this boot has logged."""
    return len([entry for entry in story(node) if entry.get("STAGE") == "configure-ovs" and entry["PRIORITY"] == "3"])


def test_a_thousand_failures_of_a_stage_do_not_end_the_daemon(product_node: NodeFactory, lan: Lan) -> None:
    """The pause before the next try has a limit, and the cause stays in the status (R10)."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED, f"{INTENT}/obstacle": ""}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=90)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    cause = stage(document, "configure-ovs")["detail"]
    assert INTENT in cause
    for _ in range(60):
        if failures(node) > FAILURES:
            break
        node.run(AGAIN, timeout=120)
    assert failures(node) > FAILURES
    node.wait_until("systemctl is-active nodenetd")
    failed = stage(settle(node), "configure-ovs")
    assert (failed["status"], failed["detail"]) == ("failed", cause)
    assert failed["next_try"] is None or failed["next_try"] - failed["ended"] < 901  # None: an event or an order comes
    assert {text.removesuffix("; the node IP is selected without that record") for text in causes(node)} == {cause}
    assert restarts(node) == "0"


TAKE_PORTS = """#!/usr/bin/python3
import pathlib, signal, socket
pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40001")
held = [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) for port in (40000, 40001)]
pathlib.Path("/run/lab-ports-taken").touch()
signal.pause()
"""


def test_a_node_without_a_free_port_stays_ready(product_node: NodeFactory, lan: Lan) -> None:
    """Where every ephemeral port is taken the node IP is as good as before, also for a nodenetd that starts (R23)."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.write("/usr/local/libexec/take-ports", TAKE_PORTS, 0o755)
    node.boot()
    before = settle(node)["node_ips"]
    node.run("systemd-run --unit=take-ports /usr/local/libexec/take-ports")
    node.wait_until("test -e /run/lab-ports-taken")
    time.sleep(LOOK_SECONDS)
    document = status(node)
    assert (document["health"], document["node_ips"], restarts(node)) == ("ok", before, "0")
    node.run("systemctl restart nodenetd", timeout=60)
    document = settle(node)
    assert (document["health"], document["ready"], document["node_ips"]) == ("ok", True, before)
    assert causes(node) == []
