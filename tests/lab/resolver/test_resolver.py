"""Look-ups on real nodes: who is asked, before and after READY, whoever else writes resolv.conf."""

from __future__ import annotations

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from lookups import ANSWERS, RESOLVER, resolv_conf, servers, start_resolver, until_first
from story import causes, nothing_left, settle, stage, story

SETTINGS = "/etc/nodenet/nodenet.toml"
VIPS = 'platform = "baremetal"\napi_vips = ["10.88.0.5"]\ncluster_domain = "example.com"\n'
FLAG = "/run/resolv-prepender-kni-conf-done"
RC_MANAGER = "/etc/NetworkManager/conf.d/20-rc-manager.conf"


def rc_manager(mode: str) -> dict[str, str]:
    return {RC_MANAGER: f"[main]\nrc-manager={mode}\n"}


def vip_node(product_node: NodeFactory, settings: str = VIPS, **files: str) -> Node:
    node = product_node(files={SETTINGS: settings, **files}, flavour=Flavour.OPENSHIFT)
    node.write(RESOLVER, ANSWERS, 0o755)
    return node


@pytest.mark.parametrize("mode", ["unmanaged", "file", "symlink"])
def test_the_node_is_asked_first_once_it_answers(product_node: NodeFactory, lan: Lan, mode: str) -> None:
    """Before READY: NetworkManager's server, the cluster's domain, the flag. Seconds after a server starts: itself."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test"))
    node = vip_node(product_node, **rc_manager(mode))
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    text = node.record("kubelet").resolv_conf
    assert servers(text) == ["10.88.0.1"]
    assert "search example.com lab.test" in text
    assert node.run(f"test -e {FLAG}", check=False).returncode == 0
    node_ip = start_resolver(node)
    until_first(node, node_ip)
    assert servers(resolv_conf(node)) == [node_ip, "10.88.0.1"]
    assert node.run("stat -c '%F %a' /etc/resolv.conf").stdout.strip() == "regular file 644"
    assert causes(node) == []
    nothing_left(node)


def test_always_puts_it_first_before_kubelet(product_node: NodeFactory, lan: Lan) -> None:
    """Whoever answers; kubelet's pods then never see another list. A reboot gives the same."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node, VIPS + 'resolver = "always"\n', **rc_manager("unmanaged"))
    for _ in range(2):
        node.boot()
        (node_ip,) = settle(node)["node_ips"]
        assert servers(node.record("kubelet").resolv_conf) == [node_ip, "10.88.0.1"]
        node.off()


def test_after_a_reboot_nobody_is_asked_who_does_not_answer(product_node: NodeFactory, lan: Lan) -> None:
    """resolv.conf survives, the server on the node IP comes with kubelet: until then it is not in the way."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node, **rc_manager("unmanaged"))
    node.boot()
    settle(node)
    until_first(node, start_resolver(node))
    node.reboot()
    settle(node)
    assert servers(node.record("kubelet").resolv_conf) == ["10.88.0.1"]


def test_without_vips_the_file_is_nobodys(product_node: NodeFactory, lan: Lan) -> None:
    """Skipped, with the reason; no flag."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node, "", **rc_manager("unmanaged"))
    node.write("/etc/resolv.conf", "nameserver 10.88.0.77\n")
    node.boot()
    document = settle(node)
    assert stage(document, "resolv-prepender")["status"] == "skipped"
    assert resolv_conf(node) == "nameserver 10.88.0.77\n"
    assert node.run(f"test -e {FLAG}", check=False).returncode == 1


def test_other_servers_by_a_new_lease(product_node: NodeFactory, lan: Lan) -> None:
    """They follow behind the node at once, with NetworkManager's file or without it."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node)
    node.boot()
    settle(node)
    node_ip = start_resolver(node)
    until_first(node, node_ip)
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=("--dhcp-option=option:dns-server,10.88.0.2,10.88.0.3,10.88.0.4",)))
    node.run("nmcli device reapply eth0 || nmcli device connect eth0", timeout=60)
    node.run("nmcli device disconnect eth0; nmcli device connect eth0", timeout=60)
    node.wait_until("grep -q 10.88.0.3 /etc/resolv.conf", timeout=20)
    until_first(node, node_ip)
    text = resolv_conf(node)
    assert servers(text) == [node_ip, "10.88.0.2", "10.88.0.3"]
    assert "# nameserver 10.88.0.4" in text


def test_a_program_that_rewrites_the_file_is_named_once_and_mended(product_node: NodeFactory, lan: Lan) -> None:
    """A storm of a hundred rewrites: ours is on top afterwards, and we did not write a hundred times."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node, **rc_manager("unmanaged"))
    node.boot()
    settle(node)
    node_ip = start_resolver(node)
    until_first(node, node_ip)
    theirs = "# made by dhclient-script\\nnameserver 10.88.0.9\\n"
    storm = f"for i in $(seq 100); do printf '{theirs}' >/etc/resolv.conf; sleep 0.02; done"
    node.run(storm)
    until_first(node, node_ip, timeout=40)
    assert servers(resolv_conf(node)) == [node_ip, "10.88.0.1"]
    node.run(f"printf '{theirs}' >/etc/resolv.conf")
    until_first(node, node_ip, timeout=40)
    named = [line["MESSAGE"] for line in story(node) if "rewritten by" in line["MESSAGE"]]
    assert named == ["/etc/resolv.conf was rewritten by dhclient and corrected"]
    assert causes(node) == []
    nothing_left(node)


def test_no_nameserver_at_all(product_node: NodeFactory, lan: Lan) -> None:
    """Waited for visibly, then kubelet is let go, degraded, with the cause; one that comes later is taken."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=("--dhcp-option=option:dns-server",)))
    node = vip_node(product_node)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'NetworkManager knows none'", timeout=20)
    assert not node.started("kubelet")
    document = settle(node, timeout=60)
    assert document["health"] == "degraded"
    (cause,) = causes(node)
    assert cause.startswith("No nameserver within 30 s")
    assert node.run(f"test -e {FLAG}", check=False).returncode == 0
    assert node.record("kubelet").resolv_conf.count("nameserver") == 0
    node.run("nmcli connection modify 'Wired connection 1' ipv4.dns 10.88.0.1 && nmcli device reapply eth0", timeout=60)
    node.wait_until("grep -q 'nameserver 10.88.0.1' /etc/resolv.conf", timeout=20)
    node.wait_until('nodenetctl status --json | grep -q \'"health": "ok"\'', timeout=20)


def test_a_link_to_network_managers_own_file(product_node: NodeFactory, lan: Lan) -> None:
    """It gives way to a plain file; what NetworkManager writes for itself stays as it is."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node)
    path = node.path("/etc/resolv.conf")
    path.unlink()
    path.symlink_to("/run/NetworkManager/resolv.conf")
    node.boot()
    settle(node)
    until_first(node, start_resolver(node))
    assert node.run("stat -c %F /etc/resolv.conf").stdout.strip() == "regular file"
    assert servers(node.run("cat /run/NetworkManager/resolv.conf").stdout) == ["10.88.0.1"]


def test_what_the_link_of_an_administrator_leads_to_is_written(product_node: NodeFactory, lan: Lan) -> None:
    """What it leads to is written."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node, **rc_manager("unmanaged"))
    node.write("/etc/site/resolv.conf", "nameserver 10.88.0.77\n")
    path = node.path("/etc/resolv.conf")
    path.unlink()
    path.symlink_to("site/resolv.conf")
    node.boot()
    settle(node)
    until_first(node, start_resolver(node))
    assert node.run("readlink /etc/resolv.conf").stdout.strip() == "site/resolv.conf"
    assert "example.com" in node.run("cat /etc/site/resolv.conf").stdout


@pytest.mark.parametrize("linked", [True, False], ids=["stub", "plain file"])
def test_systemd_resolved(product_node: NodeFactory, lan: Lan, *, linked: bool) -> None:
    """It gets a drop-in once the node answers, and reads it; its stub is never overwritten. Also after a reboot."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, domain="lab.test"))
    node = vip_node(product_node)
    node.enable("systemd-resolved.service")
    path = node.path("/etc/resolv.conf")
    if linked:
        path.unlink()
        path.symlink_to("../run/systemd/resolve/stub-resolv.conf")
    node.boot()
    assert settle(node)["health"] == "ok"
    assert node.run(f"test -e {FLAG}", check=False).returncode == 0
    assert node.run("test -e /etc/systemd/resolved.conf.d/60-kni.conf", check=False).returncode == 1
    node_ip = start_resolver(node)
    node.wait_until(f"resolvectl dns | grep '^Global:' | grep -qw {node_ip}", timeout=20)
    drop_in = node.run("cat /etc/systemd/resolved.conf.d/60-kni.conf").stdout
    assert drop_in == f"[Resolve]\nDNS={node_ip}\nDomains=example.com lab.test\n"
    if linked:
        assert servers(resolv_conf(node)) == ["127.0.0.53"]
        assert node.run("readlink /etc/resolv.conf").stdout.strip() == "../run/systemd/resolve/stub-resolv.conf"
    else:
        until_first(node, node_ip)
    node.reboot()
    assert settle(node)["health"] == "ok"
    assert node.run("cat /etc/systemd/resolved.conf.d/60-kni.conf").stdout == drop_in
    assert causes(node) == []
    nothing_left(node)


def test_the_link_of_the_node_ip_forwards_packets_before_kubelet_starts(product_node: NodeFactory, lan: Lan) -> None:
    """On premises with VIPs, IPv4 and IPv6; no other link, and no node without VIPs."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = vip_node(product_node)
    shown = "cat /proc/sys/net/ipv4/conf/{0}/forwarding /proc/sys/net/ipv6/conf/{0}/forwarding"
    node.boot()
    settle(node)
    assert node.run(shown.format("eth0")).stdout.split() == ["1", "1"]
    assert node.run(shown.format("lo")).stdout.split() == ["0", "0"]
    assert causes(node) == []
    node.write(SETTINGS, "")
    node.reboot()
    settle(node)
    assert node.run(shown.format("eth0")).stdout.split() == ["0", "0"]
