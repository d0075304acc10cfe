"""What br-ex is planned on and proved by, asked of a real NetworkManager and a real Open vSwitch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Dhcp, Ipv6, Lab, Node

KEYFILES = "/etc/NetworkManager/system-connections"
UUID = "11111111-2222-3333-4444-555555555555"
KEYFILE = f"""# uplink of rack 7
[connection]
id=rack7
uuid={UUID}
type=ethernet
interface-name=eth9
autoconnect=false

[ipv4]
# by the network team
method=auto

[802-1x]
eap=peap;
identity=node
password=secret
phase2-auth=mschapv2
"""
PROGRAM = """
import asyncio, json, os, signal, sys
from dataclasses import asdict
from pathlib import Path
from nodenet.core.br_ex import facts_json as bridge_facts_json
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.edge.files import disk as files
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel import netlink as standing
from nodenet.edge.bus.connection import Bus
from nodenet.edge.kernel.neighbours import Neighbours
from nodenet.edge.network_manager.profiles import Profiles
from nodenet.edge.nmstate.client import Nmstate
from nodenet.edge.open_vswitch import Ovsdb
from nodenet.edge.kernel.netlink import Sysctls
from nodenet.stages.br_ex.gather import Gatherer
from nodenet.stages.apply.network_before import ProfileKeeper

async def facts(profiles):
    async with Nmstate(("/usr/lib/nodenet/bundled",)).transaction() as transaction:
        gatherer = Gatherer(profiles, Ovsdb(), Sysctls(), netlink, standing, files)
        return bridge_facts_json.document(await gatherer.gather(transaction, None))

async def alive(profiles, seconds):
    try:
        await Ovsdb().prove_alive(seconds)
    except Unavailable as error:
        return error.cause

async def returned(profiles, pid):
    told = asyncio.Event()
    watch = asyncio.create_task(Ovsdb().watch(told.set))
    await asyncio.sleep(1)
    os.kill(pid, signal.SIGSTOP)
    cause = await alive(profiles, 2.5)
    early = told.is_set()
    os.kill(pid, signal.SIGCONT)
    await asyncio.wait_for(told.wait(), 5)
    watch.cancel()
    return [cause, early, await alive(profiles, 5)]

async def bridges(profiles):
    found = await Ovsdb().bridges()
    return [[bridge.name, [[port.name, port.interfaces[0].error] for port in bridge.ports]] for bridge in found]

async def set(profiles, uuid, changes): return await profiles.set(uuid, changes)
async def keep(profiles, uuid): return json.dumps(asdict(await ProfileKeeper(profiles, files).keep(uuid)))
async def give_back(profiles, kept):
    await ProfileKeeper(profiles, files).give_back(KeptProfile(**json.loads(kept)))
async def removed(profiles, name): return [await Ovsdb().remove_bridge(name), await Ovsdb().remove_bridge(name)]

async def main(name, arguments):
    bus = Bus(changed=lambda up: None)
    running = asyncio.create_task(bus.run())
    await bus.wait_up(5)
    answer = await globals()[name](Profiles(bus), *arguments)
    running.cancel()
    return answer

print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))))
"""


@pytest.fixture(scope="module")
def node(lab_session: Lab, product: Path) -> Iterator[Node]:
    """A node on two LANs: SLAAC on the first, DHCPv6 on the second."""
    lans = [lab_session.lan("lan0"), lab_session.lan("lan1")]
    lans[1].start_dhcp(Dhcp(ipv6=Ipv6.DHCP))
    made = lab_session.node("worker-0", nics=lans, layers=[product])
    made.boot()
    made.wait_settled()
    for link in ("eth0", "eth1"):
        made.wait_until(f"ip -6 address show dev {link} scope global | grep fd88")
    yield made
    lab_session.clear()


@pytest.fixture
def ask(node: Node) -> Callable[..., Any]:
    """Calls a function of the program above on the node."""

    def call(name: str, *arguments: object) -> Any:
        words = ["env", "PYTHONPATH=/usr/lib/nodenet", "python3", "-c", PROGRAM, name, json.dumps(arguments)]
        return node.json(words)

    return call


def test_identities_in_use_are_seen(node: Node, ask: Callable[..., Any]) -> None:
    """As nmcli tells them: the lease, its client id, DUID and IAID; nothing secret, nothing touched."""
    before = node.run(
        f"ls -lR /etc/NetworkManager /run/NetworkManager/system-connections; cat {KEYFILES}/*", check=False
    )
    facts = ask("facts")
    devices = {device["link"]: device for device in facts["devices"]}
    assert devices["eth0"]["mac"] == node.mac("eth0")
    assert devices["eth0"]["lease4"]["client_id"] == f"01:{node.mac('eth0')}"
    assert devices["eth0"]["lease4"]["address"] == f"{node.addresses('eth0')[0]}/24"
    assert devices["eth0"]["lease4"]["gateway"] == "10.88.0.1"
    options = node.run("nmcli -f DHCP6 device show eth1").stdout
    assert devices["eth1"]["lease6"]["address"] in node.addresses("eth1", "inet6")
    for identity in ("duid", "iaid"):
        assert devices["eth1"]["lease6"][identity] in options
    assert {link: values["net/ipv4/conf/forwarding"] for link, values in facts["sysctls"].items() if link != "lo"} == {
        "default": "0",
        "eth0": "0",
        "eth1": "0",
    }
    assert {interface["name"] for interface in facts["state"]["interfaces"]} >= {"eth0", "eth1"}
    after = node.run(
        f"ls -lR /etc/NetworkManager /run/NetworkManager/system-connections; cat {KEYFILES}/*", check=False
    )
    assert after.stdout == before.stdout


def test_a_dead_vswitchd_is_found_out_and_its_return_is_told(node: Node, ask: Callable[..., Any]) -> None:
    """Stopped in its tracks, then going on; the watch says nothing before that."""
    pid = int(node.run("cat /run/openvswitch/ovs-vswitchd.pid").stdout)
    assert ask("alive", 5) is None
    cause, early, again = ask("returned", pid)
    assert cause.startswith("ovs-vswitchd has not carried out")
    assert (early, again) == (False, None)


def test_services_that_are_stopped(node: Node, ask: Callable[..., Any]) -> None:
    """First ovs-vswitchd, then the database: each has its own cause; both come back."""
    try:
        node.run("systemctl stop ovs-vswitchd")
        assert "ovs-vswitchd has not carried out" in ask("alive", 1)
        node.run("systemctl stop ovsdb-server.socket openvswitch-switch ovsdb-server")
        assert "cannot be reached at /run/openvswitch/db.sock" in ask("alive", 5)
    finally:
        node.run("systemctl start ovsdb-server.socket openvswitch-switch")
    assert ask("alive", 10) is None


def test_a_read_only_database(node: Node, ask: Callable[..., Any]) -> None:
    """As a backup server is: it is told apart from a dead one."""
    appctl = "ovs-appctl -t /run/openvswitch/ovsdb-server.$(cat /run/openvswitch/ovsdb-server.pid).ctl ovsdb-server/"
    node.run(f"{appctl}set-active-ovsdb-server tcp:127.0.0.1:9 && {appctl}connect-active-ovsdb-server")
    try:
        assert "Open vSwitch's database is read-only" in ask("alive", 5)
    finally:
        node.run(f"{appctl}disconnect-active-ovsdb-server")
    assert ask("alive", 5) is None


def test_a_port_whose_link_is_gone(node: Node, ask: Callable[..., Any]) -> None:
    """It is named with its error, and the bridge goes with all its ports."""
    node.run(
        "ovs-vsctl --no-wait add-br stale -- set bridge stale datapath_type=netdev -- add-port stale gone0; sleep 1",
        check=False,
    )
    ((name, ports),) = ask("bridges")
    assert (name, [port for port, error in ports if error]) == ("stale", ["gone0"])
    assert ask("removed", "stale") == [True, False]
    assert ask("bridges") == []


def test_a_profile_is_changed_and_given_back_with_its_comments(node: Node, ask: Callable[..., Any]) -> None:
    """What was set is what nmcli shows, secrets stay; what was given back is the file, to the byte."""
    path = f"{KEYFILES}/rack7.nmconnection"
    node.write(path, KEYFILE, 0o600)
    node.run(["nmcli", "connection", "load", path])
    kept = ask("keep", UUID)
    identity = {"ipv6": {"dhcp-iaid": "0x2a835ddb"}, "ipv4": {"route-metric": 48, "dns-search": ["a.example"]}}
    assert ask("set", UUID, identity) is True
    assert ask("set", UUID, identity) is False
    shown = ("ipv6.dhcp-iaid", "ipv4.route-metric", "ipv4.dns-search", "802-1x.password")
    assert [of_profile(node, name) for name in shown] == ["0x2a835ddb", "48", "a.example", "secret"]
    node.run(["nmcli", "connection", "delete", UUID])
    for _ in range(2):  # the second time there is nothing to do
        ask("give_back", kept)
        assert node.run(["cat", path]).stdout == KEYFILE
    assert of_profile(node, shown[0]) == ""
    node.run(["nmcli", "connection", "delete", UUID])


def of_profile(node: Node, name: str) -> str:
    """Return a property as nmcli shows it."""
    return node.run(["nmcli", "--show-secrets", "-g", name, "connection", "show", UUID]).stdout.strip()


def test_a_profile_in_memory_stays_there(node: Node, ask: Callable[..., Any]) -> None:
    """The one that NetworkManager made by itself: neither a change nor the way back writes it to the disk."""
    uuid = node.run("nmcli -g GENERAL.CON-UUID device show eth1").stdout.strip()
    before = node.run(f"ls {KEYFILES}").stdout
    kept = ask("keep", uuid)
    assert ask("set", uuid, {"ipv4": {"may-fail": False}}) is True
    assert ask("keep", uuid) != kept
    assert node.run(f"ls {KEYFILES}").stdout == before
    ask("give_back", kept)
    assert node.run(f"ls {KEYFILES}").stdout == before
    assert ask("keep", uuid) == kept
