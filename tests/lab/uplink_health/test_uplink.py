"""A cable that is pulled and a gateway that is gone, after READY: reported in time, and over by itself."""

from __future__ import annotations

import time
from typing import Any

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nodenet.core.messages import Message
from nodenet.core.since import BEAT_SECONDS, until_common
from story import STATIC, causes, network, node_file, settle, shorter, status, story

BRIDGED = {"/etc/nodenet/nodenet.toml.d/10-lab.toml": 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'}
SHORTER = {
    "nodenet/core/since.py": ("BEAT_SECONDS = 15.0", "BEAT_SECONDS = 1.0"),
    "nodenet/loop/uplink.py": ("PROBE_SECONDS = 60.0", "PROBE_SECONDS = 4.0"),
}
"""DNS servers are asked every two seconds then, and gateways every four."""
CABLE_SECONDS = 5
GATEWAY_SECONDS = 70
SHORTER_SECONDS = 15
"""The same with the shorter times."""
BACK_SECONDS = 15
ROUTE_SECONDS = 10
SLACK_SECONDS = 3
"""For a machine that runs other nodes beside this one."""

MINUTES = 4
"""In one of which nodenetd must not wake more often: signals of NetworkManager come in some minutes, timers in each."""


def wait_for(node: Node, health: str, seconds: float) -> dict[str, Any]:
    """Wait until the node has this *health*; return the status."""
    node.wait_until(f'grep -q \'"health": "{health}"\' /run/nodenet/state.json', timeout=seconds + SLACK_SECONDS)
    return status(node)


def lines(node: Node, message: Message) -> list[str]:
    return [str(entry["MESSAGE"]) for entry in story(node) if entry.get("MESSAGE_ID") == message.value]


def test_a_cable_that_is_pulled_below_br_ex(product_node: NodeFactory, lan: Lan) -> None:
    """Degraded within five seconds with the time, nothing is changed, and ok again by itself (R27)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files=BRIDGED, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert (settle(node)["health"], status(node)["uplink"]) == ("ok", "eth0")
    before = network(node)
    lan.set_carrier(node.nics[0].port, up=False)
    document = wait_for(node, "degraded", CABLE_SECONDS)
    cause = document["last_error"]["cause"]
    assert cause.startswith("eth0, the uplink of br-ex, has no carrier, since 20")
    assert document["ready"]
    assert network(node)["addresses"] == before["addresses"]
    lan.set_carrier(node.nics[0].port, up=True)
    assert wait_for(node, "ok", 30)["last_error"] is None
    assert network(node) == before
    assert (causes(node), lines(node, Message.UPLINK_LOST)) == ([cause], [cause])
    assert lines(node, Message.RECOVERED) == ["The uplink has a carrier, and gateways and DNS servers answer again"]


def test_a_gateway_that_falls_silent(product_node: NodeFactory, lan: Lan) -> None:
    """Degraded within seventy seconds, and ok when it answers again (R31); a default route that goes, within ten."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    before = network(node)
    lan.run("ip", "address", "delete", f"{lan.gateway4}/24", "dev", "br0")
    document = wait_for(node, "degraded", GATEWAY_SECONDS)
    assert document["last_error"]["cause"].startswith("No answer from the gateway 10.88.0.1 on eth0 since 20")
    assert network(node) == before
    lan.run("ip", "address", "add", f"{lan.gateway4}/24", "dev", "br0")
    assert wait_for(node, "ok", 30)["last_error"] is None
    node.run("ip route del default")
    document = wait_for(node, "degraded", ROUTE_SECONDS)
    assert document["last_error"]["cause"].startswith("No default route for IPv4 any more since 20")


def test_dns_servers_that_fall_silent(product_node: NodeFactory, lan: Lan) -> None:
    """Degraded after a question without an answer, and ok when one answers again (R31).

    The gateway is the DNS server too: if it is gone, it alone is reported.
    """
    files = {node_file("worker-0.yml"): STATIC, **shorter(SHORTER)}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    before = network(node)
    time.sleep(3)  # until it is known that the server has answered
    lan.stop_dhcp()
    silent = str(wait_for(node, "degraded", SHORTER_SECONDS)["last_error"]["cause"])
    assert silent.startswith("No answer from the DNS server 10.88.0.1 since 20")
    assert network(node) == before
    lan.start_dhcp()
    assert wait_for(node, "ok", BACK_SECONDS)["last_error"] is None
    lan.run("ip", "address", "delete", f"{lan.gateway4}/24", "dev", "br0")
    gone = str(wait_for(node, "degraded", SHORTER_SECONDS)["last_error"]["cause"])
    assert gone.startswith("No answer from the gateway 10.88.0.1 on eth0 since 20")
    lan.run("ip", "address", "add", f"{lan.gateway4}/24", "dev", "br0")
    assert wait_for(node, "ok", BACK_SECONDS)["last_error"] is None
    assert causes(node) == [silent, gone]
    back = "The uplink has a carrier, and gateways and DNS servers answer again"
    assert lines(node, Message.RECOVERED) == [back, back]


def test_a_node_file_that_takes_the_dns_servers_away(product_node: NodeFactory) -> None:
    """It is kept, and the node is degraded: a mistyped address, or none. ok again with the next file."""
    files = {node_file("worker-0.yml"): STATIC, **shorter(SHORTER)}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    time.sleep(3)  # until it is known that the server has answered
    listed = "    server:\n    - 10.88.0.1\n"
    mistyped, none = STATIC.replace(listed, listed.replace("0.1", "0.99")), STATIC.replace(listed, "    server: []\n")
    expected = {
        mistyped: "No answer from the DNS server 10.88.0.99 since 20",
        none: "No DNS server is listed any more since 20",
    }
    for text, cause in expected.items():
        assert text != STATIC
        reload_with(node, text)
        problem = str(wait_for(node, "degraded", SHORTER_SECONDS)["last_error"]["cause"])
        assert problem.startswith(cause)
        assert "10.88.0.1 answered before" in problem
        reload_with(node, STATIC)
        assert wait_for(node, "ok", BACK_SECONDS)["last_error"] is None


def reload_with(node: Node, text: str) -> None:
    """Put another node file in the place of the present one, and let nodenetd apply it."""
    node.write(node_file("worker-0.yml"), text)
    node.run(["nodenetctl", "reload", "--wait"], timeout=60)


def test_a_gateway_outside_every_subnet(product_node: NodeFactory) -> None:
    """A gateway may be outside. Without the probes before the commit, its silence is seen at once (R31)."""
    text = STATIC.replace("next-hop-address: 10.88.0.1", "next-hop-address: 10.99.0.1")
    files = {node_file("worker-0.yml"): text, "/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 0\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    cause = str(wait_for(node, "degraded", 15)["last_error"]["cause"])
    assert cause.startswith("No answer from the gateway 10.99.0.1 on eth0 since 20")
    assert cause.endswith("10.99.0.1 is in no subnet of eth0")


def wakes(node: Node, process: str) -> int:
    """Return how often nodenetd went to sleep so far, as the kernel counts it (proc_pid_status(5))."""
    return int(node.run(f"grep ^voluntary_ctxt_switches /proc/{process}/status").stdout.split()[1])


def wakes_in_a_minute(node: Node, process: str) -> int:
    """Return how often nodenetd wakes in a minute that begins and ends between two beats of the watchdog."""
    between = BEAT_SECONDS / 2
    time.sleep(until_common(time.monotonic() - between, BEAT_SECONDS))
    before = wakes(node, process)
    time.sleep(60.0)
    return wakes(node, process) - before


def test_a_node_that_runs_well_wakes_for_little(product_node: NodeFactory) -> None:
    """Twice a minute at most for gateways and DNS servers, beside the beats of the watchdog (R31)."""
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    time.sleep(30)
    beats = 60 / (float(node.run("systemctl show -P WatchdogUSec --value nodenetd | sed s/s//").stdout) / 2)
    process = node.run("systemctl show -P MainPID nodenetd").stdout.strip()
    found = [wakes_in_a_minute(node, process)]
    while found[-1] > beats + 2 and len(found) < MINUTES:
        found.append(wakes_in_a_minute(node, process))
    assert found[-1] <= beats + 2, found
