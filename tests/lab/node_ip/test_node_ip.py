"""Node IPs on real nodes: hints, VIPs, what stays, what is lost."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, ip_address

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node
from story import RUN, causes, nothing_left, settle, stage, story

HINTS = "/etc/default/nodeip-configuration"
SETTINGS = "/etc/nodenet/nodenet.toml"
KEYFILE = """[connection]
id={link}
type=ethernet
interface-name={link}
[ipv4]
{ipv4}
[ipv6]
method=disabled
"""


def static(link: str, address: str, *more: str) -> str:
    return KEYFILE.format(link=link, ipv4="\n".join(["method=manual", f"addresses={address}", *more]))


def keyfile(link: str) -> str:
    return f"/etc/NetworkManager/system-connections/{link}.nmconnection"


LOWER = """[Unit]
After=NetworkManager.service
Before=nodenetd.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'while ! ip link show eth0 up | grep -q .; do sleep 0.01; done; ip link set eth0 down'
"""


def two_lans(product_node: NodeFactory, lab: Lab, lan: Lan, **files: str) -> Node:
    """Return a node with eth0 on 10.88.0.0/24, where the default route is, and eth1 on 10.88.1.0/24."""
    isolated = lab.lan("isolated", dhcp=Dhcp(router=False, ipv6=Ipv6.NONE))
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    return product_node(nics=[lan, isolated], flavour=Flavour.OPENSHIFT, files=files)


@pytest.mark.parametrize("hint", ["10.88.1.254", "10.88.1.0/24", "eth1"])
def test_a_hint_names_the_second_link(product_node: NodeFactory, lab: Lab, lan: Lan, hint: str) -> None:
    """By an address of its subnet, by prefix, by name; it outranks the default route."""
    node = two_lans(product_node, lab, lan, **{HINTS: f"NODEIP_HINT={hint}\n"})
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "eth1")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node.addresses("eth1")[0]


def test_a_link_that_another_program_has_set_down_is_set_up(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager has set it up before and does not do so again: the boot would wait for ever."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    units = {
        "/etc/systemd/system/lower.service": LOWER,
        "/etc/systemd/system/nodenetd.service.d/lower.conf": "[Unit]\nWants=lower.service\n",
    }
    node = product_node(files=units)
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "eth0")
    said = "Set eth0 up: another program had set it down, and the node has no address yet"
    assert [entry["MESSAGE"] for entry in story(node)].count(said) == 1
    assert f"inet {document['node_ips'][0]}/24" in node.run("ip -4 address show dev eth0 up").stdout
    nothing_left(node)


def test_a_hint_that_helps_nothing_is_told(product_node: NodeFactory, lan: Lan) -> None:
    """One that cannot be read and one that matches nothing: in the journal, in the status, in the explanation."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={HINTS: '# ours\nNODEIP_HINT="10.88.0.300 203.0.113.0/24"\n'})
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "eth0")
    unread, unmatched = document["notes"]
    assert unread.startswith(f"{HINTS}, line 2: '10.88.0.300' is not a valid node IP hint")
    assert unmatched == f"hint 203.0.113.0/24 ({HINTS}, line 2) matches no usable address of this node"
    told = [entry["MESSAGE"] for entry in story(node)]
    status, explained = (node.run(f"nodenetctl {verb}").stdout for verb in ("status", "explain node-ip"))
    for note in (unread, unmatched):
        assert told.count(note) == 1
        assert f"  note        {note}\n" in status
        assert f"Note: {note}" in explained


def test_a_vip_on_an_isolated_link_without_a_gateway(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """The node IP follows the VIP's subnet, not the default route; the VIP itself is never taken."""
    settings = 'platform = "baremetal"\napi_vips = ["10.88.1.5"]\n'
    node = two_lans(product_node, lab, lan, **{SETTINGS: settings})
    node.boot()
    document = settle(node)
    assert document["link"] == "eth1"
    assert node.run(f"test -e {RUN}/remote-worker", check=False).returncode == 1
    by_keepalived = "ip address add 10.88.1.4/32 dev eth1 label eth1:vip"
    node.run(f"ip address add 10.88.1.5/24 dev eth1; {by_keepalived}; systemctl restart nodenetd")
    assert settle(node)["node_ips"] == document["node_ips"]
    explained = json.loads(node.run("nodenetctl explain node-ip --json").stdout)
    rules = {item["address"]: item["rule"] for item in explained["candidates"]}
    assert (rules["10.88.1.5"], rules["10.88.1.4"]) == ("vip", "vip")


def test_a_remote_worker_is_flagged(product_node: NodeFactory, lan: Lan) -> None:
    """No VIP's subnet is on the node: the flag file, and the label for kubelet."""
    settings = 'platform = "baremetal"\napi_vips = ["192.0.2.5"]\n'
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: settings}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    assert node.run(f"cat {RUN}/remote-worker").stdout == "node ip doesn't match any vip, don't run keepalived"
    assert node.record("kubelet").environment["CUSTOM_KUBELET_LABELS"] == "node.openshift.io/remote-worker"
    assert (
        "note        No link has the subnet of VIP 192.0.2.5: treated as a remote worker"
        in node.run("nodenetctl status").stdout
    )


def test_a_vip_link_that_is_addressed_late_is_waited_for(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """No fall-through to the other link while its address may still come; what is waited for can be seen."""
    settings = 'platform = "baremetal"\napi_vips = ["10.88.1.5"]\n'
    node = two_lans(product_node, lab, lan, **{SETTINGS: settings})
    node.nics[1].lan.start_dhcp(Dhcp(router=False, ipv6=Ipv6.NONE, reply_delay=10))
    node.boot()
    assert settle(node)["link"] == "eth1"
    waits = [text for entry in story(node) if (text := entry["MESSAGE"]).startswith("nodeip waits: ")]
    assert "nodeip waits: no link has the subnet of a VIP and eth1 has carrier, no IPv4 address yet (DHCP)" in waits


def test_the_link_that_comes_up_first_is_not_chosen_for_that(product_node: NodeFactory, lan: Lan) -> None:
    """A late DHCP server's better default route wins over a static one, in the first boot as in all later ones."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, reply_delay=1))
    slow = KEYFILE.format(link="eth0", ipv4="method=auto\nroute-metric=50")
    quick = static("eth1", "10.88.0.71/24", "gateway=10.88.0.1", "route-metric=100")
    node = product_node(nics=[lan, lan])
    for link, profile in (("eth0", slow), ("eth1", quick)):
        node.write(keyfile(link), profile, 0o600)
    for _ in range(2):
        node.boot()
        document = settle(node)
        assert (document["health"], document["link"]) == ("ok", "eth0")
        node.power_cut()


def test_a_duplicate_address_is_never_published(product_node: NodeFactory, lan: Lan) -> None:
    """Duplicate address detection fails for the IPv6 address: the other family is the node IP."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    lan.run("ip", "address", "add", "fd88::77/64", "dev", "br0", "nodad")
    node = product_node(flavour=Flavour.OPENSHIFT)
    both = KEYFILE.format(link="eth0", ipv4="method=auto").replace(
        "[ipv6]\nmethod=disabled", "[ipv6]\nmethod=manual\naddresses=fd88::77/64\ngateway=fd88::1"
    )
    node.write(keyfile("eth0"), both, 0o600)
    node.boot()
    document = settle(node)
    assert document["node_ips"] == node.addresses()
    assert "fd88::77" not in str(document["node_ips"])


def test_a_dhcpv6_address_without_a_prefix_of_its_own(product_node: NodeFactory, lan: Lan) -> None:
    """A /128 is in the subnet that the router advertises: it matches the VIP there."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.DHCP))
    settings = 'platform = "baremetal"\nfamilies = ["ipv6"]\napi_vips = ["fd88::5"]\n'
    node = product_node(files={SETTINGS: settings}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert document["node_ips"][0] in node.addresses(family="inet6")
    assert node.run(f"test -e {RUN}/remote-worker", check=False).returncode == 1


def test_another_lease_after_a_reboot(product_node: NodeFactory, lan: Lan) -> None:
    """The old address is gone: the new one is published, and the journal says that it changed."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    mac = node.mac()
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={mac: IPv4Address("10.88.0.60")}))
    node.boot()
    assert settle(node)["node_ips"] == ["10.88.0.60"]
    lan.forget_leases()
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={mac: IPv4Address("10.88.0.61")}))
    node.off()
    for lease in node.path("/var/lib/NetworkManager").glob("*lease*"):
        lease.unlink()
    node.boot()
    document = settle(node)
    assert document["node_ips"] == ["10.88.0.61"]
    assert [line for line in story(node) if "10.88.0.60, the last node IP" in line["MESSAGE"]]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.61"


def test_a_second_address_does_not_move_the_node_ip_and_its_loss_is_told(product_node: NodeFactory) -> None:
    """LastPublished across reboots; drift is one line, no change; a reselection changes it."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.write(keyfile("eth0"), static("eth0", "10.88.0.50/24", "gateway=10.88.0.1"), 0o600)
    node.boot()
    assert settle(node)["node_ips"] == ["10.88.0.50"]
    node.record("kubelet")
    more = ("address2=10.88.0.50/24", "gateway=10.88.0.1")
    node.write(keyfile("eth0"), static("eth0", "10.88.0.40/24", *more), 0o600)
    node.reboot()
    assert settle(node)["node_ips"] == ["10.88.0.50"]
    for words, node_ip, rule in (("", "10.88.0.50", "sticky"), ("--ignore-published", "10.88.0.40", "default-route")):
        for who in ("root", "nobody"):
            explained = json.loads(node.run(f"runuser -u {who} -- nodenetctl explain node-ip --json {words}").stdout)
            rules = {item["address"]: item["rule"] for item in explained["candidates"]}
            assert (explained["node_ips"], rules[node_ip]) == ([node_ip], rule)
    assert node.run("nodenetctl reselect --dry-run").stdout.strip() == "10.88.0.50 would become 10.88.0.40"
    node.record("kubelet")

    node.run("ip address delete 10.88.0.50/24 dev eth0")
    node.wait_until("nodenetctl status --json | grep -q 'Node IP 10.88.0.50 is missing'", timeout=120)
    assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.50"
    (cause,) = causes(node)
    assert "10.88.0.50" in cause
    for verb in ("reload", "restart"):
        node.run(f"systemctl {verb} nodenetd")
        assert settle(node)["node_ips"] == ["10.88.0.50"]
        assert node.run(f"cat {RUN}/primary-ip").stdout == "10.88.0.50"
    node.wait_until("nodenetctl status --json | grep -q 'Node IP 10.88.0.50 is missing'", timeout=120)
    done = node.run("nodenetctl reselect", check=False)
    changed, *left = done.stdout.splitlines()
    assert (done.returncode, changed) == (2, "10.88.0.50 became 10.88.0.40")
    assert left[-1] == "Left to do: Drain the node; `systemctl restart crio kubelet`"
    document = settle(node)
    assert (document["health"], document["node_ips"]) == ("degraded", ["10.88.0.40"])
    (problem,) = document["problems"]
    assert problem["cause"].startswith("kubelet runs with KUBELET_NODE_IP=10.88.0.50; published is 10.88.0.40; CRI-O ")
    assert node.record("kubelet").starts == 1
    node.run("systemctl restart crio kubelet", timeout=60)
    node.wait_until("nodenetctl status", timeout=40)
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.40"
    nothing_left(node)


def test_a_file_that_moves_the_node_ip_is_never_called_ok(product_node: NodeFactory, lan: Lan) -> None:
    """It is applied, and kubelet runs with an address that the node has no more: the order and the status say so."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    (before,) = settle(node)["node_ips"]
    node.record("kubelet")
    node.write("/etc/nmstate/openshift/worker-0.yml", MOVED)
    done = node.run("nodenetctl reload --wait", check=False, timeout=60)
    assert done.returncode == 1, done
    assert f"the reload is carried out, but Node IP {before} is missing (eth0: has 10.88.0.50)" in done.stderr
    document = json.loads(node.run("nodenetctl status --json", check=False).stdout)
    assert (document["health"], document["node_ips_missing"]) == ("degraded", True)


MOVED = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}
"""


def test_two_links_on_one_subnet(product_node: NodeFactory, lan: Lan) -> None:
    """The lower IPv4 metric has the node IPs in every boot, whichever link's checks and router were faster at first."""
    lan.start_dhcp(Dhcp())
    for number, ipv6 in enumerate(("disabled", "auto") * 2):
        node = product_node(f"worker-{number}", nics=[lan, lan])
        for link, address, metric in (("eth0", "10.88.0.50", 200), ("eth1", "10.88.0.51", 100)):
            profile = static(link, f"{address}/24", "gateway=10.88.0.1", f"route-metric={metric}")
            node.write(keyfile(link), profile.replace("method=disabled", f"method={ipv6}"), 0o600)
        for boot in (node.boot, node.reboot) if number < 2 else (node.boot,):
            boot()
            document = settle(node)
            wanted = ["10.88.0.51", *node.addresses("eth1", family="inet6")]
            assert (document["node_ips"], document["link"]) == (wanted, "eth1")
            assert stage(document, "nodeip")["status"] == "done"
        node.off()


def test_a_privacy_address_is_never_published(product_node: NodeFactory, lan: Lan) -> None:
    """Of the two that SLAAC makes, the stable one is the node IP (RFC 8981)."""
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=Ipv6.SLAAC))
    profile = KEYFILE.format(link="eth0", ipv4="method=disabled")
    profile = profile.replace("[ipv6]\nmethod=disabled", "[ipv6]\nmethod=auto\nip6-privacy=2")
    node = product_node(files={SETTINGS: 'families = ["ipv6"]\n'}, flavour=Flavour.OPENSHIFT)
    node.write(keyfile("eth0"), profile, 0o600)
    node.boot()
    (address,) = settle(node)["node_ips"]
    infos = node.json("ip -j address show dev eth0")[0]["addr_info"]
    temporary = {info["local"] for info in infos if info.get("temporary")}
    assert temporary
    assert address in node.addresses(family="inet6")
    assert address not in temporary


def test_dual_stack_with_an_ipv6_address_that_comes_late(product_node: NodeFactory, lan: Lan) -> None:
    """The second family is waited for, visibly; kubelet gets both."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: 'families = ["ipv4", "ipv6"]\n'}, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'IPv6'", timeout=20)
    assert not node.started("kubelet")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    document = settle(node, timeout=90)
    first, second = document["node_ips"]
    assert (document["health"], node.record("kubelet").environment["KUBELET_NODE_IPS"]) == ("ok", f"{first},{second}")


def test_dual_stack_with_a_family_that_never_comes(product_node: NodeFactory, lan: Lan) -> None:
    """Bounded: then kubelet starts with one, and the node is degraded with the reason."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: 'families = ["ipv4", "ipv6"]\n'}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node, timeout=100)
    assert document["health"] == "degraded"
    (cause,) = causes(node)
    assert cause.startswith("No IPv6 node IP within 60 s")
    assert node.record("kubelet").environment["KUBELET_NODE_IPS"] == document["node_ips"][0]


def test_a_router_that_answers_late_is_not_lost_in_a_race(product_node: NodeFactory) -> None:
    """With no settings at all: in each of three first boots both families are published."""
    for number in range(3):
        node = product_node(f"worker-{number}", flavour=Flavour.OPENSHIFT)
        node.boot()
        document = settle(node)
        assert len(document["node_ips"]) == 2, document["stages"]
        assert len(node.record("kubelet").environment["KUBELET_NODE_IPS"].split(",")) == 2
        node.power_cut()


def test_a_dhcp_server_that_answers_late_does_not_leave_the_node_with_ipv6_alone(
    product_node: NodeFactory, lan: Lan
) -> None:
    """A router is faster where a DHCP request got lost. The first choice stays, so that it waits for the answer."""
    lan.start_dhcp(Dhcp(reply_delay=4))
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert [ip_address(text).version for text in document["node_ips"]] == [4, 6]
    (waited,) = [text for entry in story(node) if "from a DHCP server" in (text := entry["MESSAGE"])]
    assert waited == "nodeip waits: no answer from a DHCP server on eth0 yet"
