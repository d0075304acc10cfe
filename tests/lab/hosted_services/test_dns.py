"""DNS on a booted node: api-int from disk, whatever else is dead, and nobody outside uses it."""

from __future__ import annotations

from pathlib import PurePosixPath

from dns_questions import ask, ask_from_outside, ask_from_pod, start_server, until_answer
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lab, Lan
from hosted_watch import stage_ended
from lookups import resolv_conf, servers, until_first
from nodenet.core.hosted_services.cluster import Cached, render_cached
from nodenet.core.hosted_services.dns import PATIENCE_SECONDS
from story import causes, nothing_left, ready_monotonic, settle, stage

API_INT, API, APP = "api-int.c.example.com", "api.c.example.com", "console.apps.c.example.com"
NODES = [
    {
        "metadata": {"name": name, "labels": {f"node-role.kubernetes.io/{role}": ""}},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }
    for name, role, address in (("m0", "control-plane", "10.88.0.250"), ("w0", "worker", "10.88.0.251"))
]
UNIT = "nodenet-dnsmasq.service"
FURTHER = '[hosted]\nrecords = ["registry.corp.test 192.0.2.40"]\nupstreams = ["corp.test 10.88.0.1"]\n'
ANSWERS = {
    ("registry.corp.test", "A"): "NOERROR 192.0.2.40",
    ("registry.corp.test", "AAAA"): "NOERROR",
    ("host.corp.test", "A"): "NOERROR 192.0.2.79",
}
SITE = "site.test/192.0.2.77", "other.test/192.0.2.78", "corp.test/192.0.2.79"


def test_names_are_answered_from_disk_and_the_other_servers_follow_network_manager(
    hosted_node: NodeFactory, lan: Lan
) -> None:
    """One boot without API, operator, CoreDNS and list of nodes; then nodes, other servers, kill, and a CoreDNS."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=tuple(f"--address=/{name}" for name in SITE)))
    node = hosted_node(files={"/etc/nodenet/nodenet.toml.d/dns.toml": FURTHER})
    node.boot()
    document = settle(node)
    assert stage(document, "resolv-prepender")["status"] == "done"
    (node_ip,) = document["node_ips"]
    for server in ("127.0.0.1", node_ip):
        assert ask(node, API_INT, server) == "NOERROR 10.88.0.5"
    assert ask(node, API) == "NOERROR 10.88.0.5"
    assert ask(node, APP) == "NOERROR 10.88.0.6"
    until_answer(node, "site.test", "NOERROR 192.0.2.77")
    until_first(node, node_ip)
    assert servers(resolv_conf(node)) == [node_ip, "10.88.0.1"]
    assert servers(node.record("kubelet").resolv_conf)[0] == node_ip
    # Nobody outside is answered, and dnsmasq listens on no address but these two.
    assert ask_from_outside(lan, node_ip, "site.test") == "ConnectionRefusedError"
    listening = node.run("ss -Hlntu 'sport = :53' | awk '{print $5}' | sort -u").stdout.split()
    assert listening == sorted([f"{node_ip}:53", "127.0.0.1:53"])
    # nodenetd is not needed for answers.
    node.run("systemctl stop nodenetd")
    assert ask(node, API_INT, node_ip) == "NOERROR 10.88.0.5"
    node.run("systemctl start nodenetd")
    # Another server by a profile: taken up without a restart.
    pid = node.run(f"systemctl show -P MainPID {UNIT}").stdout
    start_server(node, "site-dns", ("127.0.0.99", 53), "192.0.2.99")
    profile = node.run("nmcli -g GENERAL.CONNECTION device show eth0").stdout.strip()
    node.run(["nmcli", "connection", "modify", profile, "ipv4.ignore-auto-dns", "yes", "ipv4.dns", "127.0.0.99"])
    node.run("nmcli device reapply eth0")
    until_answer(node, "site.test", "NOERROR 192.0.2.99")
    assert node.run(f"systemctl show -P MainPID {UNIT}").stdout == pid
    # What the settings name is answered here, or by the server of its domain.
    assert {asked: ask(node, asked[0], kind=asked[1]) for asked in ANSWERS} == ANSWERS
    # Killed: it comes back and is given its servers again.
    node.run(f"systemctl kill -s KILL {UNIT}")
    until_answer(node, "site.test", "NOERROR 192.0.2.99")
    assert node.run(f"systemctl show -P MainPID {UNIT}").stdout != pid
    assert ask(node, API_INT, node_ip) == "NOERROR 10.88.0.5"
    # A CoreDNS: asked for the cluster's names while it answers; api-int stays dnsmasq's.
    start_server(node, "coredns", ("127.0.0.1", 5354), "192.0.2.54")
    until_answer(node, "pod.c.example.com", "NOERROR 192.0.2.54", timeout=40)
    assert ask(node, API_INT) == "NOERROR 10.88.0.5"
    assert ask(node, "site.test") == "NOERROR 192.0.2.99"
    node.run("systemctl stop coredns")
    until_answer(node, "pod.c.example.com", "NOERROR 192.0.2.99", timeout=40)
    # Root of a container in its place is named and not asked; CoreDNS that is back is.
    start_server(node, "pod-dns", ("127.0.0.1", 5354), "192.0.2.66", slice_="kubepods.slice")
    node.wait_until("journalctl -b -u nodenetd | grep -q 'not asked for names of c.example.com: a socket'", timeout=40)
    assert ask(node, "other-pod.c.example.com") == "NOERROR 192.0.2.99"
    node.run("systemctl stop pod-dns")
    start_server(node, "coredns", ("127.0.0.1", 5354), "192.0.2.54")
    until_answer(node, "pod.c.example.com", "NOERROR 192.0.2.54", timeout=40)
    nothing_left(node)
    # A bus that is restarted: dnsmasq does not connect to it by itself, and loses its servers if it is restarted.
    node.run("systemctl restart dbus.socket dbus.service", timeout=60)
    node.wait_until("busctl call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s org.nodenet1.Dnsmasq")
    until_answer(node, "site.test", "NOERROR 192.0.2.99")
    assert ask(node, API_INT, node_ip) == "NOERROR 10.88.0.5"


def test_hosts_on_no_link_use_the_node_s_dns_and_pods_do(hosted_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """A host on the LAN, one behind a second card, and one that sends to a loopback address; then a pod."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=("--address=/site.test/192.0.2.77",)))
    other = lab.lan("other", serve=False)
    # NetworkManager would begin DHCP on the pod's cable where it sees it before its address.
    links = "interface-name:eth1;interface-name:veth-pod"
    unmanaged = {"/etc/NetworkManager/conf.d/lab.conf": f"[keyfile]\nunmanaged-devices={links}\n"}
    node = hosted_node(nics=[lan, other], files=unmanaged)
    node.boot()
    (node_ip,) = settle(node)["node_ips"]
    until_answer(node, "site.test", "NOERROR 192.0.2.77")
    node.run("ip address add 10.88.1.50/24 dev eth1 && ip link set eth1 up")
    node.run("sysctl -q net.ipv4.conf.eth1.route_localnet=1")  # as network plugins set it
    other.run("ip", "route", "add", f"{node_ip}/32", "via", "10.88.1.50")
    other.run("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
    other.run("ip", "route", "add", "127.0.0.1/32", "via", "10.88.1.50", "table", "100")
    other.run("ip", "rule", "add", "pref", "1", "to", "127.0.0.1", "table", "100")
    other.run("ip", "rule", "add", "pref", "2", "table", "local")
    other.run("ip", "rule", "delete", "pref", "0", "table", "local")
    guarded = "nft list table inet nodenet_dns | grep -q eth1"
    node.wait_until(guarded, timeout=30)
    # Without the guard, each of them is answered.
    node.run("systemctl stop nodenetd && nft delete table inet nodenet_dns")
    asked = (lan, node_ip), (other, node_ip), (other, "127.0.0.1")
    assert [ask_from_outside(where, server, "site.test") for where, server in asked] == ["NOERROR 192.0.2.77"] * 3
    node.run("systemctl start nodenetd", timeout=90)
    node.wait_until(guarded, timeout=30)
    refused = [ask_from_outside(where, server, "site.test") for where, server in asked]
    assert refused == ["ConnectionRefusedError", "ConnectionRefusedError", "TimeoutError"]
    assert ask_from_pod(node, node_ip, "site.test") == "NOERROR 192.0.2.77"


def test_a_node_without_dnsmasq_is_degraded_at_once(hosted_node: NodeFactory, lan: Lan) -> None:
    """Not after the half minute that DNS is waited for: kubelet starts, and DNS is there once dnsmasq is."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    drop_in = "/etc/systemd/system/nodenet-dnsmasq.service.d/lab.conf"
    arguments = "--keep-in-foreground --conf-file=/run/nodenet/hosted/dnsmasq.conf --log-facility=- --pid-file="
    node = hosted_node(files={drop_in: f"[Service]\nExecStart=\nExecStart=/usr/local/sbin/dnsmasq {arguments}\n"})
    node.boot()
    document = settle(node)
    assert document["health"] == "degraded"
    assert "dnsmasq of this node is not started: /usr/local/sbin/dnsmasq is not installed" in causes(node)
    node.record("kubelet")
    assert ready_monotonic(node) - stage_ended(node, "nodeip") < PATIENCE_SECONDS / 2
    node.run("ln -s /usr/sbin/dnsmasq /usr/local/sbin/dnsmasq")
    until_answer(node, API_INT, "NOERROR 10.88.0.5", timeout=40)
    node.wait_until("nodenetctl status | grep -q ^ok", timeout=40)


def test_the_cached_nodes_are_answered_and_a_cache_that_cannot_be_used_is_named(
    hosted_node: NodeFactory, lan: Lan
) -> None:
    """Torn, and of another cluster: named, the boot goes on, and what was written since is read."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    path = PurePosixPath("/var/lib/nodenet/hosted/nodes.json")
    good = render_cached(Cached(NODES, "c.example.com", "7"))
    node = hosted_node(files={str(path): good})
    node.boot()
    settle(node)
    assert ask(node, "w0.c.example.com") == "NOERROR 10.88.0.251"
    assert ask(node, "w0") == "NOERROR 10.88.0.251"
    node.off()
    for content, why in (
        (good[:-40], "its checksum is wrong: it was not written to its end, or was changed"),
        (
            render_cached(Cached(NODES, "d.example.com", "7")),
            "it is of the cluster 'd.example.com', not of c.example.com",
        ),
    ):
        node.write(str(path), content)
        node.boot()
        document = settle(node)
        assert document["health"] == "degraded"
        assert ask(node, API_INT) == "NOERROR 10.88.0.5"
        assert f"The cached list of nodes is not used: {why}" in " ".join(causes(node))
        node.off()


def test_another_dns_server_on_the_node_is_named_and_left_alone(hosted_node: NodeFactory, lan: Lan) -> None:
    """Port 53 is taken: degraded with the name of the unit, kubelet starts; when it has left, ours serves."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    listens = "import socket; s = socket.create_server(('0.0.0.0', 53)); s.accept()"
    unit = f'[Service]\nExecStart=/usr/bin/python3 -c "{listens}"\n[Install]\nWantedBy=sysinit.target\n'
    node = hosted_node(files={"/etc/systemd/system/named.service": unit}, enable=["nodenetd.service", "named.service"])
    node.boot()
    document = settle(node)
    assert document["health"] == "degraded"
    taken = "dnsmasq of this node is not started: named.service listens on port 53: see `ss -ltnp sport = :53`"
    assert taken in causes(node)
    node.record("kubelet")
    node.run("systemctl stop named")
    until_answer(node, API_INT, "NOERROR 10.88.0.5", timeout=40)
    node.wait_until("nodenetctl status | grep -q ^ok", timeout=40)


def test_other_platforms_and_the_former_stack_run_nothing_of_it(hosted_node: NodeFactory, lan: Lan) -> None:
    """A cloud; then a node whose static pods are still there, which is as it was."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    cloud = hosted_node("c0", files={"/etc/nodenet/nodenet.toml": 'platform = "aws"\n'})
    former = hosted_node("f0", files={"/etc/kubernetes/manifests/coredns.yaml": "kind: Pod\n"})
    for node in (cloud, former):
        node.boot()
    for node in (cloud, former):
        settle(node)
        assert (
            node.run(
                f"systemctl show -P ActiveState -P NRestarts {UNIT} nodenet-keepalived nodenet-haproxy"
            ).stdout.split()
            == ["inactive", "0"] * 3
        )
        assert node.run("ss -Hlntu 'sport = :53'").stdout == ""
        assert node.run("nft list tables").stdout == ""
    assert stage(settle(cloud), "hosted-services")["status"] == "skipped"
    assert cloud.run("systemctl is-active nodenet-hosted", check=False).stdout.strip() == "inactive"
    assert cloud.run("ls /run/nodenet/hosted", check=False).returncode != 0
