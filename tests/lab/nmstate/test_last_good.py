"""A node file with which the node never gets ready: the next boot but one is on the old file."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import Any

from deaf import CAUSE, DEAF, SETTINGS, wait_deaf
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nmstate.test_leases import OTHER_CLIENT, PLAIN
from nodenet.core.apply import new_file
from nodenet.core.apply.new_file import NewFile
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.messages import Message
from story import STATIC, causes, mtu, network, node_file, nothing_left, settle, shorter, stage, story, with_mtu

TWO_BOOTS = "2 boots in a row with worker-0.yml did not reach READY or ended soon after it"
GOOD = "grep -ql '\"good\": true' /var/lib/nodenet/history/*.json"
GOOD_ENTRY = "/var/lib/nodenet/history/7.json"
NO_SPANNING_TREE = {"nodenet/stages/apply/probes.py": ("FORWARD_SECONDS = 35.0", "FORWARD_SECONDS = 8.0")}


def booted_without_ready(node: Node) -> None:
    """Boot; cut the power when the file is applied and the node waits for an address."""
    node.boot()
    wait_deaf(node)
    node.power_cut()


def test_two_boots_that_did_not_get_ready_bring_the_old_file_back(product_node: NodeFactory, lan: Lan) -> None:
    """Said in status and journal; the new file is not touched, and its correction is used at once."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1400), **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.wait_until(GOOD, timeout=30)
    node.write(node_file("worker-0.yml"), DEAF)
    node.power_cut()
    booted_without_ready(node)
    booted_without_ready(node)
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"], mtu(node)) == ("degraded", True, 1400)
    assert document["last_error"]["cause"] == CAUSE
    assert stage(document, "nmstate")["detail"] == (
        "the last known good worker-0.yml asks for what is there already; nothing was applied"
    )
    assert causes(node) == [CAUSE]
    assert [
        entry["PRIORITY"] for entry in story(node) if entry.get("MESSAGE_ID") == Message.NODE_FILE_QUARANTINED.value
    ] == ["3"]
    assert node.run(f"cat {node_file('worker-0.yml')}").stdout == DEAF
    node.write(node_file("worker-0.yml"), with_mtu(1410))
    node.run("systemctl reload nodenetd", timeout=90)
    assert (settle(node)["health"], mtu(node)) == ("ok", 1410)
    nothing_left(node)


def test_a_file_that_leaves_the_node_dark_after_ready_is_taken_back(product_node: NodeFactory, lan: Lan) -> None:
    """Its lease does not come, and kubelet runs on: two boots without READY bring the old network back."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=("--dhcp-host=id:01:02:03:04:05:06:07,ignore",)))
    settings = {key: text.replace("good_after = 1", "good_after = 60") for key, text in SETTINGS.items()}
    node = product_node(files={node_file("worker-0.yml"): PLAIN, **settings}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.wait_until(GOOD, timeout=100)
    node.write(node_file("worker-0.yml"), OTHER_CLIENT)
    node.run("nodenetctl reload --wait", check=False, timeout=90)
    node.wait_until("! ip -4 -o addr show dev eth0 scope global | grep -q inet", timeout=30)
    time.sleep(75)  # longer than `good_after`
    assert '"ready": ""' in node.run("cat /var/lib/nodenet/boots.json").stdout
    node.power_cut()
    node.boot()
    wait_deaf(node)
    node.power_cut()
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("degraded", True)
    assert document["last_error"]["cause"] == CAUSE
    nothing_left(node)


def test_a_power_cut_in_the_probes_of_a_bad_file_does_not_leave_the_node_cut_off(
    product_node: NodeFactory, lan: Lan
) -> None:
    """The profiles from before come back first, and the file fails again."""
    settings = {key: text.replace("probe_timeout = 0", "probe_timeout = 8") for key, text in SETTINGS.items()}
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    files = {node_file("worker-0.yml"): with_mtu(1400), **settings, **shorter(NO_SPANNING_TREE)}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.wait_until(GOOD, timeout=30)
    bad = STATIC.replace(f"next-hop-address: {lan.gateway4}", "next-hop-address: 10.88.0.99")
    node.write(node_file("worker-0.yml"), bad)
    node.run("systemctl reload --no-block nodenetd")
    node.wait_until(
        'ip route | grep -q "via 10.88.0.99" && grep -q \'"way_out": true\' /var/lib/nodenet/change.json', timeout=60
    )
    node.power_cut()
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("degraded", True)
    why = f"the gateway 10.88.0.99 does not answer on eth0, and the gateway {lan.gateway4} answered before the apply"
    assert document["last_error"]["cause"] == (
        f"worker-0.yml failed its probes ({why}): the last known good worker-0.yml is used in its place"
    )
    assert f"default via {lan.gateway4} " in node.run("ip route").stdout
    assert node.run(f"cat {node_file('worker-0.yml')}").stdout == bad
    nothing_left(node)


def test_a_last_known_good_file_that_cannot_be_used_is_named_and_left_alone(
    product_node: NodeFactory, lan: Lan
) -> None:
    """Damaged, and of another host: the node file is applied all the same, and the remedy works."""
    name, good, counted = node_file("worker-0.yml"), GOOD_ENTRY, "/var/lib/nodenet/boots.json"
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    text = with_mtu(1400)
    lost = new_file.render(NewFile(sha256(text.encode()).hexdigest(), ("a" * 32, "b" * 32)))
    settings = {path: content.replace("good_after = 1", "good_after = 3600") for path, content in SETTINGS.items()}
    node = product_node(files={name: text, **settings}, flavour=Flavour.OPENSHIFT)
    digest = sha256(STATIC.encode()).hexdigest()
    of_another = Entry(
        Kind.NODE_FILE, Result.COMMITTED, "worker-9.yml", STATIC, digest, "worker-9", "a" * 32, 1.0, good=True
    )
    for content, said in (
        (b"{", f"can be used: {GOOD_ENTRY}: "),
        (
            entry.render(of_another, 1 << 20),
            f"can be used: {GOOD_ENTRY}: it belongs to the host worker-9, and this one is worker-0",
        ),
    ):
        node.power_cut()
        node.write(good, content, 0o600)
        node.write(counted, lost, 0o600)
        node.boot()
        document = settle(node)
        assert (document["health"], document["ready"], mtu(node)) == ("degraded", True, 1400)
        (cause,) = causes(node)
        assert cause.startswith(f"{TWO_BOOTS}, and no good entry of the history in /var/lib/nodenet/history {said}"), (
            cause
        )
        assert "remove the entry if it is another node's" in document["last_error"]["remedy"]
        assert document["applied_digest"] == document["digest"]
        assert node.path(good).read_bytes() == content
    assert node.run("nodenetctl reload --wait", check=False, timeout=60).returncode == 0
    assert settle(node)["health"] == "ok"
    assert node.path(good).read_bytes() == content
    nothing_left(node)


ADDED = """interfaces:
- name: eth0
  type: ethernet
  state: up
  mtu: 1300
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: "10.88.0.50"
      prefix-length: 24
  ipv6:
    enabled: false
- name: br-test
  type: linux-bridge
  state: up
  ipv4:
    enabled: true
    address:
    - ip: 10.20.0.5
      prefix-length: 24
dns-resolver:
  config:
    server:
    - 10.88.0.1
    - 10.88.0.7
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
  - destination: 10.99.0.0/16
    next-hop-address: 10.88.0.1
    next-hop-interface: eth0
"""


def lasting(node: Node) -> dict[str, Any]:
    """Return what a later boot must have of the network: lo gets another profile in each."""
    found = network(node)
    found["profiles"] = [line for line in found["profiles"].splitlines() if not line.startswith("lo:")]
    found["keyfiles"] = node.run("grep -Hv ^timestamp= /etc/NetworkManager/system-connections/*").stdout.splitlines()
    return found


def test_nothing_is_left_of_what_the_bad_file_has_added(product_node: NodeFactory, lan: Lan) -> None:
    """Its bridge, route, MTU and name server: the good network comes back, and not only the good file."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): STATIC, **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    node.wait_until(GOOD, timeout=30)
    before = lasting(node)
    node.write("/etc/nodenet/nodenet.toml.d/20-lab.toml", "probe_timeout = 0\ngood_after = 3600\n")
    node.write(node_file("worker-0.yml"), ADDED)
    node.power_cut()
    for _ in range(2):
        node.boot()
        assert (settle(node)["ready"], mtu(node), mtu(node, "br-test")) == (True, 1300, 1500)
        node.power_cut()
    node.boot()
    document = settle(node)
    assert document["last_error"]["cause"] == CAUSE
    assert lasting(node) == before
    assert mtu(node) == 1500
    assert not node.path("/sys/class/net/br-test").exists()
    node.run("systemctl restart nodenetd", timeout=60)
    settle(node)
    assert lasting(node) == before, "a nodenetd that starts again changes nothing"
    nothing_left(node)


def test_the_name_servers_of_a_bad_file_go_where_the_good_one_has_none(product_node: NodeFactory, lan: Lan) -> None:
    """Those of the lease come back: libnmstate may have put the others into NetworkManager's own configuration."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1400), **SETTINGS}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.wait_until(GOOD, timeout=30)
    before = node.run("grep ^nameserver /etc/resolv.conf").stdout
    node.write("/etc/nodenet/nodenet.toml.d/20-lab.toml", "probe_timeout = 0\ngood_after = 3600\n")
    node.write(node_file("worker-0.yml"), with_mtu(1400) + "dns-resolver:\n  config:\n    server:\n    - 10.88.0.7\n")
    node.power_cut()
    for _ in range(2):
        node.boot()
        settle(node)
        assert "10.88.0.7" in node.run("cat /etc/resolv.conf").stdout
        node.power_cut()
    node.boot()
    assert settle(node)["last_error"]["cause"] == CAUSE
    node.wait_until(f"test \"$(grep ^nameserver /etc/resolv.conf)\" = '{before.strip()}'", timeout=20)
    nothing_left(node)
