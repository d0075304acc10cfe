"""`check` on a node, `day-one check` on any machine and the apply agree on the same documents."""

from __future__ import annotations

from pathlib import Path

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan
from nodenet.cli.main import main
from story import network, node_file, settle

OWN = node_file("worker-0.yml")
QUICK = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 2\n"}
REST = """routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}]}
dns-resolver: {config: {server: [10.88.0.1]}}
"""
STATIC = "ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}, ipv6: {enabled: false}"
ETH0 = f"- {{name: eth0, type: ethernet, state: up, {STATIC}}}\n"
FILE = f"interfaces:\n{ETH0}{REST}"
ETH1 = "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}\n"
BRIDGES = "- {name: br%d, type: linux-bridge, state: up, bridge: {port: [{name: eth1}]}}\n"
GOOD = {
    "static": FILE,
    "mtu": FILE.replace("state: up,", "state: up, mtu: 1400,", 1),
    "json": '{"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "mtu": 1450}]}',
    "second nic by dhcp": f"interfaces:\n{ETH0}{ETH1}{REST}",
    "bridge": f"interfaces:\n{ETH0}{BRIDGES % 0}{REST}",
    "bridge is gone": f"interfaces:\n{ETH0}- {{name: br0, type: linux-bridge, state: absent}}\n{REST}",
    "mac in capitals": FILE.replace("state: up,", "state: up, identifier: mac-address, mac-address: 'MAC',", 1),
    "on-link gateway": FILE.replace("10.88.0.50, prefix-length: 24", "10.88.0.50, prefix-length: 32"),
    "two default routes": FILE.replace(
        "eth0}]", "eth0}, {destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0, metric: 900}]"
    ),
}
WRONG = {
    "unknown key": FILE.replace("state: up", "state: up, mtuu: 1400", 1),
    "mac with dashes": FILE.replace(
        "state: up,", "state: up, identifier: mac-address, mac-address: 52-54-00-88-01-00,", 1
    ),
    "no type that there is": FILE.replace("type: ethernet", "type: interface"),
    "port of two bridges": f"interfaces:\n{ETH0}{BRIDGES % 0}{BRIDGES % 1}{REST}",
    "gateway is the host": FILE.replace("next-hop-address: 10.88.0.1,", "next-hop-address: 10.88.0.50,"),
    "autoconf without dhcp": FILE.replace("ipv6: {enabled: false}", "ipv6: {enabled: true, autoconf: true}"),
    "placeholder": FILE.replace("10.88.0.50", "$(address)"),
    "template": FILE.replace("10.88.0.50", "{{ address }}"),
    "name is too long": FILE.replace("eth0", "a-name-longer-than-15"),
    "address of a network": FILE.replace("10.88.0.50", "10.88.0.300"),
    "one mac, two entries": FILE.replace(
        "routes:",
        "".join(
            f"- {{name: {name}, type: ethernet, state: up, identifier: mac-address, mac-address: 'MAC'}}\n"
            for name in ("one", "other")
        )
        + "routes:",
    ),
    "no yaml": "interfaces: [}\n",
}


def test_three_judges_agree(product_node: NodeFactory, lab: Lab, lan: Lan, tmp_path: Path) -> None:
    """A wrong file is refused by all of them and changes nothing; a good one is applied."""
    other = lab.lan("other")
    for each in (lan, other):
        each.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(nics=[lan, other], files={OWN: FILE, **QUICK}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    found: dict[str, tuple[bool, ...]] = {}
    for name, text in (GOOD | WRONG).items():
        document = text.replace("MAC", node.mac().upper())
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        (folder / "worker-0.yml").write_text(document)
        before = network(node)
        node.write(OWN, document)
        checked = node.run("nodenetctl check", check=False).returncode
        day_one = main(["day-one", "check", str(folder), "--step", "second"])
        done = node.run("nodenetctl reload --wait", check=False, timeout=180).returncode
        found[name] = (checked == 0, day_one == 0, done == 0)
        if name in WRONG:
            assert network(node) == before, name
        else:
            assert settle(node)["health"] == "ok", name
    assert {name: each for name, each in found.items() if each != (name in GOOD,) * 3} == {}
