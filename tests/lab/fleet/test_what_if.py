"""What `nodenetctl what-if` predicts of a booted node, compared with what its apply does.

In each run a few files; with NODENET_RECORD_APPLIES=DIR all of them, for the error rate in docs/fleet.md.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from error_rate import measured
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node, applies
from nmstate.test_policy import CAPTURES, MTU
from nodenet.cli.main import main
from story import mtu, node_file, settle

OWN = node_file("worker-0.yml")
QUICK = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 2\n"}
STATIC = "- {name: eth0, type: ethernet, state: up, IPV6ipv4: {enabled: true, dhcp: false, address: [ADDRESSES]}}"
FIRST = {
    "lease": "- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}",
    "lease-mtu": "- {name: eth0, type: ethernet, state: up, mtu: 1400, ipv4: {enabled: true, dhcp: true}}",
    "lease-without-gateway": "- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, "
    "auto-gateway: false}}",
    "static": STATIC.replace("IPV6", "").replace("ADDRESSES", "{ip: 10.88.0.50, prefix-length: 24}"),
    "static-two": STATIC.replace("IPV6", "mtu: 1450, ").replace(
        "ADDRESSES", "{ip: 10.88.0.51, prefix-length: 24}, {ip: 10.88.0.52, prefix-length: 24}"
    ),
    "static-without-6": STATIC.replace("IPV6", "ipv6: {enabled: false}, ").replace(
        "ADDRESSES", "{ip: 10.88.0.53, prefix-length: 24}"
    ),
    "static-and-6": STATIC.replace(
        "IPV6",
        "ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd88::50', prefix-length: 64}]}, ",
    ).replace("ADDRESSES", "{ip: 10.88.0.54, prefix-length: 24}"),
    "automatic": "- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, "
    "ipv6: {enabled: true, dhcp: true, autoconf: true}}",
    "by-mac": "- {name: uplink, type: ethernet, state: up, identifier: mac-address, mac-address: 'MAC', "
    "ipv4: {enabled: true, dhcp: true}}",
}
"""What a file says of the uplink."""
BRIDGE = "- {name: br-one, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.21.0.5, "
SECOND = {
    "alone": "",
    "bridge": "- {name: br-test, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.20.0.5, prefix-length: 24}]}, bridge: {port: []}}",
    "bridge-over-eth1": f"{BRIDGE}prefix-length: 24}}]}}, bridge: {{port: [{{name: eth1}}]}}}}",
    "bridge-lease": "- {name: br-one, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: true}, "
    "bridge: {port: [{name: eth1}]}}",
    "bridge-without-port": f"{BRIDGE}prefix-length: 16}}]}}, mtu: 1300, bridge: {{port: []}}}}",
    "eth1-controller": "- {name: br-one, type: linux-bridge, state: up}\n"
    "- {name: eth1, type: ethernet, state: up, controller: br-one}",
    "eth1-no-controller": "- {name: eth1, type: ethernet, state: up, controller: '', "
    "ipv4: {enabled: true, dhcp: true}}",
    "eth1-static": "- {name: eth1, type: ethernet, state: up, mtu: 1480, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.23.0.5, prefix-length: 24}]}, ipv6: {enabled: false}}",
    "eth1-off": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}",
    "eth1-absent": "- {name: eth1, type: ethernet, state: absent}",
    "eth1-down": "- {name: eth1, type: ethernet, state: down}",
    "eth1-ignored": "- {name: eth1, type: ethernet, state: ignore}",
    "eth1-lease": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-gateway: false}}",
    "eth1-without-routes": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, "
    "auto-routes: false}, ipv6: {enabled: true, dhcp: true, autoconf: true, auto-routes: false}}",
    "bridge-absent": "- {name: br-test, type: linux-bridge, state: absent}",
    "bridges-absent": "- {name: br-test, type: linux-bridge, state: absent}\n"
    "- {name: br-one, type: linux-bridge, state: absent}",
    "mac-vlan": "- {name: mv0, type: mac-vlan, state: up, mac-vlan: {base-iface: eth1, mode: bridge, "
    "promiscuous: true}, ipv4: {enabled: true, dhcp: false, address: [{ip: 10.24.0.5, prefix-length: 24}]}}",
    "mac-vlan-absent": "- {name: mv0, type: mac-vlan, state: absent}",
    "vxlan": "- {name: vx0, type: vxlan, state: up, vxlan: {base-iface: eth1, id: 7, remote: 10.88.1.9}, "
    "ipv4: {enabled: true, dhcp: false, address: [{ip: 10.25.0.5, prefix-length: 24}]}}",
    "vxlan-absent": "- {name: vx0, type: vxlan, state: absent}",
    "veth": "- {name: ve0, type: veth, state: up, veth: {peer: ve1}, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.26.0.5, prefix-length: 24}]}}",
    "veth-absent": "- {name: ve0, type: veth, state: absent}",
    "gone-link": "- {name: eth9, type: ethernet, state: up}",
    "gone-mac": "- {name: other, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:99:99:99', "
    "ipv4: {enabled: true, dhcp: true}}",
    "gone-port": f"{BRIDGE}prefix-length: 24}}]}}, bridge: {{port: [{{name: eth7}}]}}}}",
    "wrong-key": "- {name: eth1, type: ethernet, state: up, mtuu: 1400}",
    "eth1-6": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: true, dhcp: false, "
    "autoconf: false, address: [{ip: 'fd99::5', prefix-length: 64}]}}",
}
"""What it says of other links. The kernel of a lab node may lack modules for bonds, VLANs, VRFs and dummies."""
ROUTES = """routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}
"""
STILL = """! nmcli -g STATE device | grep -q '^connecting' && before=$(ip -br address) && sleep 1.5 &&
test "$before" = "$(ip -br address)"
"""
"""No activation is under way, and no address comes: a router's takes more than a second."""
LANS = {"ipv4": Ipv6.NONE, **({"dual": Ipv6.SLAAC} if applies.FOLDER else {})}
SOME = (
    ("static", "bridge"),
    ("lease-mtu", "eth1-static"),
    ("lease", "gone-link"),
    ("static-two", "bridge-absent"),
)


def text(first: str, second: str, mac: str) -> str:
    """Return a node file; a static address has a default route."""
    links = "\n".join(filter(None, (FIRST[first].replace("MAC", mac), SECOND[second])))
    return f"interfaces:\n{links}\n{ROUTES if 'static' in first or 'without' in first else ''}"


@pytest.fixture(params=LANS)
def node(lab: Lab, lan: Lan, product_node: NodeFactory, request: pytest.FixtureRequest) -> Node:
    other = lab.lan("other")
    for each in (lan, other):
        each.start_dhcp(Dhcp(ipv6=LANS[request.param]))
    made = product_node(nics=[lan, other], files={OWN: text("lease", "alone", ""), **QUICK}, flavour=Flavour.OPENSHIFT)
    made.boot()
    assert settle(made)["health"] == "ok"
    if LANS[request.param] is not Ipv6.NONE:
        for link in ("eth0", "eth1"):
            made.wait_until(f"ip -6 -br address show {link} scope global | grep -q fd88", timeout=60)
    made.wait_until(STILL, timeout=60)
    return made


def test_the_prediction_is_what_the_apply_does(node: Node, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Each file is applied after the one before: what a file does not name stays."""
    every = list(product(FIRST, SECOND))
    Random(request.node.callspec.id).shuffle(every)  # noqa: S311  (nothing secret)
    folder = applies.FOLDER or str(tmp_path)
    for first, second in every if applies.FOLDER else SOME:
        node.write(OWN, text(first, second, node.mac()))
        with applies.keep(node, folder, f"{request.node.callspec.id}-{first}-{second}"):
            node.run("nodenetctl reload --wait", check=False, timeout=180)
            settle(node, timeout=180)
            node.wait_until(STILL, timeout=60)
    if not applies.FOLDER:
        names, wrong = measured(tmp_path)
        assert (len(names), wrong) == (len(SOME), {})


def test_a_policy_leads_on_the_node_to_what_its_report_says(
    product_node: NodeFactory, lan: Lan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report has the network that captures look at; once the policy is applied, the document that it led to."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "worker-0.yml").write_text(CAPTURES + MTU)

    def predicted(name: str) -> dict[str, Any]:
        (tmp_path / name).mkdir()
        node.run("nodenetctl report --output /root/report.tar.gz", timeout=90)
        (tmp_path / name / "report.tar.gz").write_bytes(node.path("/root/report.tar.gz").read_bytes())
        code = main(["what-if", str(tmp_path / name), "--files", str(tmp_path / "new"), "--json"])
        (host,) = json.loads(capsys.readouterr().out)["hosts"]
        assert (code, host["problems"]) == (0, [])
        return dict(host)

    before = predicted("before")
    assert before["verdict"] == "taken"
    node.write(OWN, CAPTURES + MTU)
    node.run("nodenetctl reload --wait", timeout=180)
    after = predicted("after")
    assert after["verdict"] == "unchanged"
    assert before["mtu"]["eth0"] == mtu(node) == 1401
    assert (after["addresses"], after["mtu"], after["node_ips"]) == (
        before["addresses"],
        before["mtu"],
        before["node_ips"],
    )
