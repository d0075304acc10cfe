"""The chain whole: six stages in their order, from the first name server to kubelet on br-ex, however the boot goes."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chain import (
    ON_PREMISES,
    VIPS,
    chain_node,
    hold_vips,
    never_without_a_name_server,
    seen_name_servers,
    whole,
)
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan, Node
from lookups import RESOLVER, resolv_conf, servers, start_resolver, until_first
from nodenet.core.messages import Message
from old_units import STUBS, old_unit
from story import node_file, settle, stage, status, story, with_mtu

DHCP = Dhcp(ipv6=Ipv6.NONE, domain="lab.test")
UNMANAGED = {"/etc/NetworkManager/conf.d/99-kni.conf": "[main]\nrc-manager=unmanaged\n"}
"""As the platform's own operator sets it."""
BOOTS = int(os.environ.get("NODENET_BOOTS", "6"))
SEED = int(os.environ.get("NODENET_SEED", "20"))


@pytest.fixture(name="site")
def _site(lan: Lan) -> Lan:
    """A LAN with DHCPv4 on which somebody holds the VIPs."""
    lan.start_dhcp(DHCP)
    hold_vips(lan)
    return lan


@pytest.mark.usefixtures("site")
def test_the_whole_chain_in_the_first_boot_after_a_reboot_and_after_a_power_cut(product_node: NodeFactory) -> None:
    """The same node each time; its own resolver is asked first from the moment it answers."""
    node = chain_node(product_node)
    node.boot()
    first = whole(node)
    told = told_in_order(node)
    assert told == sorted(told), "the story follows the stages"
    until_first(node, start_resolver(node))
    never_without_a_name_server(node)
    node.reboot()
    assert whole(node) == first
    node.power_cut()
    node.boot()
    assert whole(node) == first


def told_in_order(node: Node) -> list[int]:
    """Return which of the story's steps were told, in the journal's order."""
    steps = [
        Message.HOSTNAME_KNOWN,
        Message.RESOLVER_SET,
        Message.NODE_IP_SELECTED,
        Message.BRIDGE_MADE,
        Message.READY,
    ]
    ids = [step.value for step in steps]
    return list({ids.index(each): None for entry in story(node) if (each := entry.get("MESSAGE_ID")) in ids})


@pytest.mark.usefixtures("site")
def test_a_person_is_told_of_it(product_node: NodeFactory) -> None:
    """Status in a few lines, the boot as a picture, each change to whoever watches."""
    node = chain_node(product_node)
    node.boot()
    with monitored(node) as seen:
        whole(node)
        shown = node.run("nodenetctl status").stdout.splitlines()
        (node_ip,) = status(node)["node_ips"]
        assert shown[:3] == [
            "ok (kubelet may run)",
            f"  node IPs    {node_ip} (DHCP, router 10.88.0.1) on br-ex",
            "  bridge      br-ex over eth0",
        ]
        assert "  problem     none" in shown
        node.run("nodenetctl boot-report --svg /run/boot.svg")
        assert "configure-ovs" in node.run("cat /run/boot.svg").stdout
        assert "br-ex over eth0" in node.run("nodenetctl boot-report").stdout
        node.wait_until(f"grep -q 'kubelet may run' {seen}")
        assert "configure-ovs" in node.run(["cat", seen]).stdout


@contextmanager
def monitored(node: Node) -> Iterator[str]:
    """Run `nodenetctl monitor` beside the boot; yields the file that it writes."""
    path = "/run/lab-monitor"
    node.run(f"systemd-run --unit=lab-monitor --property=StandardOutput=append:{path} /usr/bin/nodenetctl monitor")
    yield path
    node.run("systemctl stop lab-monitor")


@pytest.mark.usefixtures("site")
def test_a_resolver_on_the_node_ip_stays_first_while_the_node_ip_moves(product_node: NodeFactory) -> None:
    """It answers before br-ex is made: at no moment do look-ups have nobody to ask; kubelet sees it first."""
    files = {"/etc/systemd/system/lab-resolver.service": EARLY_RESOLVER, **UNMANAGED}
    node = chain_node(product_node, ON_PREMISES + 'resolver = "always"\n', files=files)
    node.enable("lab-resolver.service")
    node.boot()
    first = whole(node, first=True)
    (node_ip,) = first["node_ips"]
    seen = seen_name_servers(node)
    assert seen[-1] == [node_ip, "10.88.0.1"]
    assert seen[: seen.index(seen[-1])] in ([["10.88.0.1"]], [[], ["10.88.0.1"]], [[]])
    assert servers(node.record("kubelet").resolv_conf) == [node_ip, "10.88.0.1"]
    node.reboot()
    assert whole(node, first=True) == first


EARLY_RESOLVER = f"""[Service]
ExecStartPre=/bin/sh -c 'until test -s /run/nodeip-configuration/primary-ip; do sleep 0.05; done'
ExecStart=/bin/sh -c 'exec {RESOLVER} $(cat /run/nodeip-configuration/primary-ip)'
Restart=on-failure
[Install]
WantedBy=multi-user.target
"""


def test_a_vip_that_this_node_holds_is_never_its_node_ip(product_node: NodeFactory, site: Lan) -> None:
    """Keepalived puts it on br-ex: a new daemon and a reload leave both as they are."""
    node = chain_node(product_node)
    node.boot()
    first = whole(node)
    site.run("ip", "address", "del", f"{VIPS[0]}/32", "dev", "br0")
    node.run(
        f"ip address add {VIPS[0]}/32 dev br-ex; systemctl restart nodenetd; systemctl reload nodenetd", timeout=90
    )
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", first["node_ips"], "br-ex")
    assert set(node.addresses("br-ex")) == {*first["node_ips"], VIPS[0]}
    assert node.record("kubelet").starts == 1


def providers(**stages: str) -> dict[str, str]:
    """Return a drop-in by which others do *stages*, or nobody does; br-ex is ours."""
    lines = [f'{name.replace("_", "-")} = "{provider}"\n' for name, provider in stages.items()]
    return {"/etc/nodenet/nodenet.toml.d/20-providers.toml": "[stages]\n" + "".join(lines)}


@pytest.mark.usefixtures("site")
def test_br_ex_behind_stages_that_units_do(product_node: NodeFactory) -> None:
    """The old units until the node IP, br-ex ours: made over the link that they name, and awaited by kubelet."""
    before = ("hostname", "nmstate", "resolv-prepender", "nodeip")
    files = {node_file("cluster.yml"): with_mtu(1500)}
    for name in before:
        files |= old_unit(name, STUBS[name])
    files |= providers(**{name.replace("-", "_"): f"unit:old-{name}.service" for name in before})
    node = chain_node(product_node, files=files)
    node.boot()
    document = settle(node, timeout=90)
    assert [stage(document, name)["status"] for name in before] == ["done"] * 4, document
    assert (document["health"], document["bridge"], document["link"]) == ("ok", "br-ex", "br-ex")
    assert node.addresses("br-ex") == document["node_ips"]
    assert "Port br-ex" in node.record("kubelet").ovs


@pytest.mark.usefixtures("site")
def test_br_ex_behind_stages_that_nobody_does(product_node: NodeFactory) -> None:
    """Without name, node file and resolver the chain still ends with br-ex."""
    files = providers(hostname="skip", nmstate="skip", resolv_prepender="skip", hosted_services="skip")
    node = chain_node(product_node, files=files)
    node.path("/etc/systemd/system/kubelet.service.d/10-lab-flags.conf").unlink()
    node.boot()
    document = settle(node, timeout=90)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", "br-ex", "br-ex")
    assert node.addresses("br-ex") == document["node_ips"]


@pytest.mark.usefixtures("site")
def test_br_ex_that_the_old_unit_makes(product_node: NodeFactory) -> None:
    """Everything before it is ours, and follows the node IP to the bridge that somebody else made."""
    script = (Path(__file__).parents[1] / "br-ex.sh").read_text()
    made = f"nmcli -g NAME connection | grep -qx br-ex || {{\n{script}\n}}\n{STUBS['configure-ovs']}"
    files = old_unit("configure-ovs", made) | providers(configure_ovs="unit:old-configure-ovs.service")
    node = chain_node(product_node, files=files)
    node.boot()
    document = settle(node, timeout=90)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", "br-ex", "br-ex")
    assert node.addresses("br-ex") == document["node_ips"]
    assert node.run("cat /proc/sys/net/ipv4/conf/br-ex/forwarding").stdout == "1\n"
    assert "Port br-ex" in node.record("kubelet").ovs
    never_without_a_name_server(node)


@pytest.mark.usefixtures("site")
def test_systemd_resolved_follows_to_br_ex(product_node: NodeFactory) -> None:
    """Its stub stays through the move; behind it the servers are those of br-ex, and the node's own once it answers."""
    node = chain_node(product_node)
    node.enable("systemd-resolved.service")
    path = node.path("/etc/resolv.conf")
    path.unlink(missing_ok=True)
    path.symlink_to("../run/systemd/resolve/stub-resolv.conf")
    node.boot()
    for _ in range(2):
        document = settle(node, timeout=90)
        assert (document["health"], document["link"]) == ("ok", "br-ex")
        assert servers(resolv_conf(node)) == ["127.0.0.53"]
        never_without_a_name_server(node)
        node.wait_until("resolvectl dns br-ex | grep -qw 10.88.0.1")
        node.wait_until("resolvectl query --cache=no anything.lab.test | grep -qw 10.88.0.1")
        node_ip = start_resolver(node)
        node.wait_until(f"resolvectl dns | grep '^Global:' | grep -qw {node_ip}", timeout=20)
        node.reboot()


def test_a_name_that_comes_late_stays_while_the_lease_moves(product_node: NodeFactory, site: Lan) -> None:
    """The node waits for it, finds its file by it, and keeps it on br-ex; the next boot asks again."""
    files = {node_file("cluster.yml"): with_mtu(1401), node_file("worker-7.yml"): with_mtu(1407)}
    node = chain_node(product_node, hostname=None, files=files)
    site.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test", names={node.mac(): "worker-7"}, reply_delay=3))
    node.boot()
    first = whole(node)
    assert (first["hostname"], first["node_file"], first["mtu"]) == ("worker-7", "worker-7.yml", 1407)
    told = told_in_order(node)
    assert told == sorted(told)
    assert node.run("cat /proc/sys/kernel/hostname").stdout == "worker-7\n"
    node.run("test ! -e /etc/hostname")
    node.reboot()
    assert whole(node) == first


def test_boots_in_a_row_with_random_delays_end_alike(product_node: NodeFactory, site: Lan) -> None:
    """DHCP, Open vSwitch, NetworkManager and the name come in any order; br-ex is there already, or made anew.

    NODENET_BOOTS says how many boots, NODENET_SEED which delays.
    """
    dice = random.Random(SEED)  # noqa: S311 -- to be repeated, not to be secret
    node = chain_node(product_node, files={node_file("worker-0.yml"): with_mtu(1450)})
    states = []
    for number in range(BOOTS):
        delays = {unit: dice.randint(0, 2) for unit in ("ovsdb-server", "NetworkManager", "systemd-hostnamed")}
        answer, anew, cut = dice.randint(0, 2), dice.random() < 0.5, dice.random() < 0.3
        print(f"seed {SEED}, boot {number}: {delays}, DHCP {answer} s, anew {anew}, cut {cut}")  # noqa: T201
        for unit, seconds in delays.items():
            node.delay_unit(f"{unit}.service", seconds)
        site.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test", reply_delay=answer))
        node.boot()
        states.append(json.loads(json.dumps(whole(node))))
        assert states[-1] == states[0]
        if anew:
            node.run("nodenetctl bridge remove", timeout=60)
        node.power_cut() if cut else node.off()
