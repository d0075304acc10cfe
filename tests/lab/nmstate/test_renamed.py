"""The NICs of a node file have other names in a later boot: another slot, an upgrade, or two names exchanged."""

from __future__ import annotations

from factories import NodeFactory
from harness import Lab, Lan, Node
from story import NODE_FILES, STATIC, causes, node_file, nothing_left, settle, status

OTHER = """- name: eth1
  type: ethernet
  state: up
  mtu: 1400
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.77.0.50, prefix-length: 24}]}
  ipv6: {enabled: false}
"""
BOTH = STATIC.replace("dns-resolver:\n", f"{OTHER}dns-resolver:\n")
FILE = node_file("cluster.yml")
UNIT = """[Unit]
DefaultDependencies=no
Before=NetworkManager.service nodenetd.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c "{command}"
[Install]
WantedBy=sysinit.target
"""
RENAME = "ip link set eth0 down; ip link set eth0 name enp6s0f0np0"
SWAP = (
    "ip link set eth0 down; ip link set eth1 down; "
    "ip link set eth0 name spare; ip link set eth1 name eth0; ip link set spare name eth1"
)


def reboot_with(node: Node, command: str) -> None:
    """Reboot; *command* gives the NICs other names from then on."""
    node.write("/etc/systemd/system/rename.service", UNIT.format(command=command))
    node.run("systemctl enable rename.service")
    node.reboot()


def said_of(document: dict[str, object]) -> list[str]:
    """Return the causes of the problems in a status."""
    problems = document["problems"]
    assert isinstance(problems, list)
    return [str(each["cause"]) for each in problems]


def test_a_file_that_has_worked_follows_its_nic_to_another_name(product_node: NodeFactory, lan: Lan) -> None:
    """The node has its address and is degraded; the edit that is shown ends that, and a second boot writes nothing."""
    node = product_node(nics=[lan])
    node.write(FILE, STATIC)
    node.boot()
    assert settle(node)["health"] == "ok"
    before, mac = node.addresses("eth0"), node.nics[0].mac
    reboot_with(node, RENAME)
    document = settle(node)
    assert document["ready"] is True
    assert (document["health"], document["node_ips"], document["link"]) == ("degraded", ["10.88.0.50"], "enp6s0f0np0")
    assert node.addresses("enp6s0f0np0") == before
    renamed = f"eth0 is called enp6s0f0np0 now (same MAC {mac})"
    assert said_of(document) == [f"{renamed}; cluster.yml is used with the new name of each NIC"]
    entry = f'`identifier: mac-address` and `mac-address: "{mac}"`'
    assert f"Write into cluster.yml below `name: eth0` in line 3: {entry}" in document["problems"][0]["remedy"]
    assert node.run(f"cat {FILE}").stdout == STATIC
    difference = node.run("nodenetctl diff", check=False)
    assert (difference.returncode, f"Note: {renamed}." in difference.stdout) == (0, True), difference.stdout
    explained = node.run("nodenetctl explain nmstate").stdout
    assert f"{renamed}." in explained
    block = f'- name: eth0\n  type: ethernet\n  identifier: mac-address\n  mac-address: "{mac}"\n'
    assert block in explained
    keyfiles = node.run("sha256sum /etc/NetworkManager/system-connections/* /var/lib/nodenet/history/*").stdout
    node.reboot()
    again = settle(node)
    assert (again["health"], again["node_ips"]) == ("degraded", ["10.88.0.50"])
    assert node.run("sha256sum /etc/NetworkManager/system-connections/* /var/lib/nodenet/history/*").stdout == keyfiles
    node.write(FILE, STATIC.replace("- name: eth0\n  type: ethernet\n", block))
    node.run("nodenetctl reload --wait")
    document = status(node)
    assert (document["health"], document["node_ips"], document["renamed"]) == ("ok", ["10.88.0.50"], [])
    assert node.addresses("enp6s0f0np0") == before
    nothing_left(node)


def test_a_file_that_has_worked_follows_nics_that_exchange_their_names(
    product_node: NodeFactory, lab: Lab, lan: Lan
) -> None:
    node = product_node(nics=[lan, lab.lan("lan1")])
    node.write(FILE, BOTH)
    node.boot()
    assert settle(node)["health"] == "ok"
    reboot_with(node, SWAP)
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("degraded", ["10.88.0.50"], "eth1")
    one, two = (nic.mac for nic in node.nics)
    renamed = f"eth0 is called eth1 now (same MAC {one}), eth1 is called eth0 now (same MAC {two})"
    assert said_of(document) == [f"{renamed}; cluster.yml is used with the new name of each NIC"]
    assert (node.addresses("eth1"), node.addresses("eth0")) == (["10.88.0.50"], ["10.77.0.50"])
    assert node.run("ping -c 1 -W 2 10.88.0.1", check=False).returncode == 0
    assert node.run(f"cat {NODE_FILES}/applied").stdout == BOTH
    nothing_left(node)


def test_a_nic_that_was_replaced_is_not_renamed(product_node: NodeFactory, lan: Lan) -> None:
    """The old MAC is gone and the name is there: the file means the new NIC, and the node is ok."""
    node = product_node(nics=[lan])
    node.write(FILE, STATIC)
    node.boot()
    assert settle(node)["health"] == "ok"
    reboot_with(node, "ip link set eth0 down; ip link set eth0 address 52:54:00:77:77:77")
    document = settle(node)
    assert (document["health"], document["node_ips"], document["renamed"]) == ("ok", ["10.88.0.50"], [])
    assert causes(node) == []
