"""Which file a booting node takes, and what it says of a bad one."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Lan, Node
from story import (
    NODE_FILES,
    RUN,
    STATIC,
    causes,
    mtu,
    network,
    node_file,
    nothing_left,
    settle,
    stage,
    status,
    story,
    with_mtu,
)


def booted(node: Node) -> Node:
    node.boot()
    settle(node)
    return node


def test_only_cluster_yml(product_node: NodeFactory) -> None:
    """The file for all is applied, nobody waits for a name, and the node IP is published."""
    node = product_node(files={node_file("cluster.yml"): with_mtu(1401)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_file"]) == ("ok", "cluster.yml")
    assert mtu(node) == 1401
    assert stage(document, "hostname")["detail"] == "This node is worker-0"
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert causes(node) == []
    nothing_left(node)


def test_a_file_for_all_has_the_values_of_this_host(product_node: NodeFactory) -> None:
    """`hosts.csv` beside `cluster.yml`: a row of another host changes nothing, an own one is taken by a reload."""
    table = f"{NODE_FILES}/hosts.csv"
    shared = with_mtu(1401).replace("1401", "$(mtu)")
    rows = "host,mtu\nworker-0,1401\nworker-1,1402\n"
    node = product_node(files={node_file("cluster.yml"): shared, table: rows})
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_file"], mtu(node)) == ("ok", "cluster.yml", 1401)
    node.write(table, rows.replace("1402", "1409"))
    node.run(["nodenetctl", "reload", "--wait"])
    assert status(node)["applied_digest"] == document["applied_digest"]
    node.write(table, rows.replace("1401", "1403"))
    node.run(["nodenetctl", "reload", "--wait"])
    assert mtu(node) == 1403
    node.write(table, rows.replace("worker-0", "worker-9"))
    done = node.run(["nodenetctl", "reload", "--wait"], check=False)
    assert done.returncode == 65
    assert "hosts.csv: no row is for worker-0" in done.stderr
    assert mtu(node) == 1403
    nothing_left(node)


def test_the_more_specific_file_wins(product_node: NodeFactory) -> None:
    """Short name over cluster, whole name over both; none is merged."""
    node = product_node(files={node_file("cluster.yml"): with_mtu(1401), node_file("worker-0.yml"): with_mtu(1402)})
    booted(node)
    assert mtu(node) == 1402
    node.write("/etc/hostname", "worker-0.example.com\n")
    node.write(node_file("worker-0.example.com.yml"), with_mtu(1403))
    node.hostname = "worker-0.example.com"
    node.reboot()
    assert settle(node)["node_file"] == "worker-0.example.com.yml"
    assert mtu(node) == 1403


def test_the_long_extension_is_read_too(product_node: NodeFactory) -> None:
    """`.yaml` is never silently ignored."""
    node = booted(product_node(files={node_file("worker-0.yaml"): with_mtu(1402)}))
    assert mtu(node) == 1402


def test_both_extensions_of_one_stem_are_refused(product_node: NodeFactory) -> None:
    """Never a guess; kubelet starts on the network as it was."""
    files = {node_file("worker-0.yml"): with_mtu(1401), node_file("worker-0.yaml"): with_mtu(1402)}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert document["health"] == "degraded"
    assert causes(node) == ["worker-0.yaml and worker-0.yml both claim to be the node file for 'worker-0'"]
    assert mtu(node) == 1500
    assert node.record("kubelet").environment["KUBELET_NODE_IP"]


def test_a_name_that_dhcp_brings_late(product_node: NodeFactory, lan: Lan) -> None:
    """The right file is found by the right name, and kubelet waits for it."""
    files = {node_file("cluster.yml"): with_mtu(1401), node_file("worker-7.yml"): with_mtu(1407)}
    node = product_node(files=files, hostname=None, flavour=Flavour.OPENSHIFT)
    lan.start_dhcp(Dhcp(names={node.mac(): "worker-7"}, reply_delay=5))
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'a valid host name: '", timeout=20)
    assert not node.started("kubelet")
    document = settle(node)
    assert (document["hostname"], document["node_file"], document["health"]) == ("worker-7", "worker-7.yml", "ok")
    assert mtu(node) == 1407
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert node.run("test -e /etc/hostname", check=False).returncode == 1  # the name of a lease is not kept


def test_cluster_yml_is_applied_and_kubelet_waits_for_a_name(product_node: NodeFactory, lan: Lan) -> None:
    """No name ever comes by itself: the network is made, and kubelet does not start as localhost."""
    node = product_node(files={node_file("cluster.yml"): with_mtu(1401)}, hostname=None, flavour=Flavour.OPENSHIFT)
    lan.start_dhcp(Dhcp(names={node.mac(): "localhost"}))
    node.boot()
    node.wait_until(f"test -s {RUN}/primary-ip", timeout=60)
    time.sleep(5)
    document = status(node)
    waits = stage(document, "hostname")
    assert (waits["status"], document["node_file"], mtu(node)) == ("waiting", "cluster.yml", 1401)
    assert "a valid host name: " in waits["detail"]
    assert not node.started("kubelet")
    node.run("hostnamectl set-hostname worker-9")
    document = settle(node)
    assert (document["hostname"], document["node_file"], document["health"]) == ("worker-9", "cluster.yml", "ok")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert causes(node) == []
    nothing_left(node)


def test_no_node_file(product_node: NodeFactory) -> None:
    """Nothing is applied, the searched names are told, the node IP of DHCP is published."""
    node = product_node(flavour=Flavour.PLAIN)
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    told = stage(document, "nmstate")
    assert told["status"] == "skipped"
    assert "worker-0.yml" in told["detail"]
    assert document["node_ips"][0] == node.addresses()[0]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert "/etc/nmstate" not in node.run(f"find {NODE_FILES} /etc/nmstate 2>/dev/null || true").stdout


BOMB = "".join(
    [
        "a: &a [" + ",".join("x" * 20) + "]\n",
        *(f"{name}: &{name} [{','.join([f'*{before}'] * 20)}]\n" for before, name in pairwise("abcdefghi")),
    ]
).encode()
BAD = {
    "not-utf-8": (b"interfaces:\n- name: \xff\n", "line 2: not UTF-8"),
    "syntax": (b"interfaces: [\n", "worker-0.yml, line 2"),
    "duplicate-key": (b"interfaces:\n- name: eth0\n  name: eth1\n", 'line 3, column 3: found duplicate key "name"'),
    "unknown-key": (b"interfaces:\n- name: eth0\n  type: ethernet\n  mtuu: 1400\n", "mtuu"),
    "no-break-space": (b"interfaces:\n- name: eth0\xc2\xa0\n  type: ethernet\n", "a link's name has no blanks"),
    "byte-order-mark": (b"\xef\xbb\xbfinterfaces:\n- name: eth0\n  type: ethernet\n", "byte order mark"),
    "unknown-type": (b"interfaces:\n- name: eth0\n  type: ethernetz\n", "interfaces[0].type"),
    "yaml-version-R42": (b"%YAML 1.3\n---\ninterfaces: []\n", "line 1: YAML version '1.3' is not known"),
    "template-R42": (b"interfaces:\n- [[ name ]]: eth0\n", "line 2, column 3: a placeholder of a template was not"),
    "aliases-R43": (BOMB, "more than 250000 values, those that aliases repeat included"),
    "localhost-R32": (b"hostname: {config: localhost}\n", "hostname.config = localhost: this is not a node's name"),
    "prefix-R49": (
        STATIC.replace("length: 24", "length: 33").encode(),
        "prefix-length = 33: a prefix of IPv4 has 0 to",
    ),
    "too-large": (b"# " + b"x" * (1 << 20), "larger than 1024 KiB"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_by_name_and_place(product_node: NodeFactory, case: str) -> None:
    """One cause line; the network is untouched, kubelet starts, the node is degraded."""
    content, said = BAD[case]
    node = product_node(files={node_file("worker-0.yml"): content}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert document["health"] == "degraded"
    (cause,) = causes(node)
    assert "worker-0.yml" in cause
    assert said in cause
    assert document["last_error"]["remedy"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"]
    assert network(node)["keyfiles"] == ""
    nothing_left(node)


@pytest.mark.parametrize(
    ("trick", "said"),
    [
        ("chmod 0666 {0}", "writable"),
        ("mv {0} /etc/elsewhere.yml; ln -s /etc/elsewhere.yml {0}", "worker-0.yml"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused(product_node: NodeFactory, trick: str, said: str) -> None:
    """World-writable, or a symbolic link that leaves the directory."""
    path = node_file("worker-0.yml")
    node = product_node(files={path: with_mtu(1402)}, flavour=Flavour.OPENSHIFT)
    node.write(
        "/etc/systemd/system/lab-trick.service",
        f"[Unit]\nDefaultDependencies=no\nBefore=nodenetd.service\n"
        f"After=local-fs.target\n[Service]\nType=oneshot\nExecStart=/bin/sh -c '{trick.format(path)}'\n"
        "[Install]\nWantedBy=multi-user.target\n",
    )
    node.enable("lab-trick.service")
    node.boot()
    assert settle(node)["health"] == "degraded"
    (cause,) = causes(node)
    assert said in cause
    assert mtu(node) == 1500


def test_an_empty_file_of_the_host_beside_the_one_of_all_is_refused(product_node: NodeFactory) -> None:
    """It would hide what cluster.yml asks for (R51)."""
    files = {node_file("worker-0.yml"): "# nothing yet\n", node_file("cluster.yml"): with_mtu(1401)}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "degraded"
    (cause,) = causes(node)
    assert "worker-0.yml asks for nothing, and cluster.yml would be the node file without it" in cause
    assert mtu(node) == 1500


def test_an_empty_file_applies_nothing(product_node: NodeFactory) -> None:
    """Comments configure nothing, and say so."""
    node = product_node(files={node_file("worker-0.yml"): "# nothing yet\n"}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    assert "nothing but comments" in stage(document, "nmstate")["detail"]
    assert (document["node_file"], document["digest"], document["applied_digest"]) == (None, None, None)


@pytest.mark.parametrize("name", ["../shadow", "a/b", "..x"])
def test_a_host_name_that_leaves_the_directory_is_refused(product_node: NodeFactory, lan: Lan, name: str) -> None:
    """Such a name is waited out, visibly; no file is read by it."""
    node = product_node(files={node_file("worker-0.yml"): with_mtu(1402)}, hostname=None, flavour=Flavour.OPENSHIFT)
    lan.start_dhcp(Dhcp(names={node.mac(): "localhost"}))
    node.boot()
    # Again and again, and in the journal: NetworkManager replaces the name, even before nodenetd has begun.
    give = f'python3 -c "import socket; socket.sethostname({name!r})"'
    said = "journalctl -u nodenetd | grep -q 'characters that no host name has'"
    node.wait_until(f"{give}; sleep 1; {said}", timeout=60)
    assert not node.started("kubelet")
    assert [line for line in story(node) if "Found the node file" in line["MESSAGE"]] == []
