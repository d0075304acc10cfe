"""A network that another program changes is compared with the node file, said once, and left as it is."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import FakeClock, FakeFiles, FakeKernel, FakeManager, FakeNmstate, FakeOvsdb, stage_edges
from nodenet.core.boot.outcome import Done, Facts, Outcome, Skipped
from nodenet.core.boot.stage_state import EVENT, Request
from nodenet.core.errors import NodeFileInvalid, NodenetError, PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.nmstate.drift import LOOK_SECONDS, SOON_SECONDS, Drift
from nodenet.stages.nmstate.in_force import InForce
from nodenet.stages.nmstate.job import Job

TEXT = b"""interfaces:
- name: eth0
  mtu: 1500
  ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}
dns-resolver: {config: {server: [SERVERS]}}
"""
DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
ADDRESS = ip_address("192.0.2.5")
ETH0 = Link(2, "eth0", mtu=1500)
READY = Facts(hostname="worker-0", node_file="worker-0.yml", selection=Selection((ADDRESS,), "eth0"))
MTU = {"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1500}]}
SAID = "eth0 mtu is 1400, not 1500"
LATER = Request(who=EVENT)


class Rig:
    """A node whose file is in force."""

    def __init__(self, servers: str = '192.0.2.1, "fe80::1%eth0"', *, degrades: bool = False) -> None:
        self.kernel, self.nmstate, self.manager = (
            FakeKernel(Snapshot((ETH0,), (Address(ADDRESS, 24, "eth0"),))),
            FakeNmstate(),
            FakeManager(),
        )
        self.files = FakeFiles({"/etc/resolv.conf": b"nameserver 192.0.2.1\n"})
        self.ovsdb, self.clock = FakeOvsdb(), FakeClock()
        found = {"kernel": self.kernel, "nmstate": self.nmstate, "manager": self.manager, "ovsdb": self.ovsdb}
        edges = stage_edges(files=self.files, clock=self.clock, **found)
        pipeline = Pipeline(edges, Settings())
        self.drift = Drift(edges, pipeline, InForce(edges.store, pipeline, DIRECTORY), degrades=degrades)
        file = read("worker-0.yml", TEXT.replace(b"SERVERS", servers.encode()))
        self.job = Job(file, parse(file), READY, 0.0, retry_refused=False, who="")
        self.facts = READY
        self.nmstate.shown = {"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1400}]}

    def settle(self) -> Outcome:
        """Have a pass end with the file in force."""
        self.drift.began()
        done = Done("applied", self.job.applied, Message.NETWORK_APPLIED)
        return self.drift.ended(self.drift.in_force(self.job, done), Request())

    async def look(self) -> float:
        """Look once; return the seconds until the next look."""
        outcome = await self.drift.look(self.facts, LATER)
        assert isinstance(outcome, Done | Skipped)
        assert outcome.facts is not None
        self.facts = outcome.facts
        assert outcome.again
        assert outcome.again.seconds
        return outcome.again.seconds

    def change(self, mtu: int, left: dict[str, Any]) -> None:
        """Let another program set the MTU."""
        self.kernel.now = replace(self.kernel.now, links=(replace(ETH0, mtu=mtu),))
        self.nmstate.left = left


async def test_a_change_is_said_once_and_nothing_is_applied() -> None:
    """In two comparisons: what is under way is not said. And once more when it is as before."""
    rig = Rig()
    settled = rig.settle()
    assert isinstance(settled, Done)
    assert settled.again
    await rig.look()
    with capture_logs() as logged:
        rig.change(1400, MTU)
        assert await rig.look() == SOON_SECONDS
        assert not rig.facts.changed
        assert await rig.look() <= LOOK_SECONDS + 1
        await rig.look()
    assert rig.facts.changed == (SAID,)
    (line,) = logged
    assert line["message"] is Message.NETWORK_CHANGED
    assert line["event"] == f"The network is not as worker-0.yml asks any more: {SAID}"
    rig.change(1500, {})
    with capture_logs() as logged:
        await rig.look()
        await rig.look()
    assert [line["event"] for line in logged] == ["The network is as worker-0.yml asks again"]
    assert not rig.facts.changed
    assert rig.nmstate.applied == []


async def test_libnmstate_is_asked_only_after_a_change_on_the_links_of_the_file() -> None:
    rig = Rig()
    rig.settle()
    await rig.look()
    rig.nmstate.difference_fails = NmstateFailure(FailureKind.INTERNAL, "asked")
    rig.nmstate.left = MTU
    pod = Address(ip_address("198.51.100.1"), 32, "veth7")
    rig.kernel.now = replace(rig.kernel.now, links=(ETH0, Link(9, "veth7")), addresses=(*rig.kernel.now.addresses, pod))
    for _ in range(3):
        await rig.look()
    rig.nmstate.difference_fails = None
    for _ in range(3):
        await rig.look()
    assert rig.facts.changed == ()


@pytest.mark.parametrize("case", ["not-ready", "starting", "no-answer", "no-database", "no-carrier"])
async def test_what_is_not_sure_is_not_said(case: str) -> None:
    """A NetworkManager that starts, and a link that has lost its carrier, have less than the file asks for."""
    rig = Rig()
    rig.settle()
    await rig.look()
    rig.change(1400, MTU)
    match case:
        case "not-ready":
            rig.facts = replace(rig.facts, selection=None)
        case "starting":
            rig.manager.status = ManagerState.STARTING
        case "no-answer":
            rig.nmstate.difference_fails = NmstateFailure(FailureKind.UNAVAILABLE, "NetworkManager is away")
        case "no-database":
            rig.facts = replace(rig.facts, bridge="br-ex")
            rig.ovsdb.up = False
        case _:
            rig.kernel.now = replace(rig.kernel.now, links=(replace(ETH0, carrier=False),))
    for _ in range(3):
        await rig.look()
    assert rig.facts.changed == ()


async def test_other_dns_servers_are_said() -> None:
    """For libnmstate they are those of NetworkManager's profiles; resolv.conf may have others."""
    rig = Rig()
    rig.settle()
    await rig.look()
    rig.files.content["/run/NetworkManager/no-stub-resolv.conf"] = b"nameserver 192.0.2.1\n"
    rig.files.content["/etc/resolv.conf"] = b"# Generated by NetworkManager\nnameserver 203.0.113.9\n"
    for _ in range(3):
        await rig.look()
    assert rig.facts.changed == ("DNS servers 203.0.113.9, not 192.0.2.1, fe80::1%eth0",)


@pytest.mark.parametrize("server", ["127.0.0.1", "192.0.2.5"])
async def test_a_server_on_the_node_itself_is_no_difference(server: str) -> None:
    """A local cache or NodeLocal DNS is not among the servers of others, which a lease adds to."""
    rig = Rig(servers=server)
    rig.settle()
    rig.files.content["/etc/resolv.conf"] = f"nameserver {server}\nnameserver 203.0.113.9\n".encode()
    for _ in range(3):
        await rig.look()
    assert rig.facts.changed == ()


async def test_one_comparison_is_not_enough_whatever_comes_behind_it() -> None:
    """The first may fall into the middle of an upgrade of NetworkManager, and the next ones find it starting."""
    rig = Rig()
    rig.settle()
    await rig.look()
    rig.change(1400, MTU)
    await rig.look()
    rig.manager.status = ManagerState.STARTING
    for _ in range(3):
        await rig.look()
    assert rig.facts.changed == ()
    rig.manager.status = ManagerState.READY
    await rig.look()
    assert rig.facts.changed


async def test_the_status_says_since_when_the_network_is_compared() -> None:
    """Not before the first comparison, while NetworkManager does not answer, or for what was found only once."""
    rig = Rig()
    rig.settle()
    assert rig.facts.compared is None
    await rig.look()
    assert rig.facts.compared == 100.0
    rig.clock.now = 130.0
    await rig.look()
    assert rig.facts.compared == 100.0, "the status does not change twice a minute"
    rig.change(1400, MTU)
    await rig.look()
    assert rig.facts.compared is None
    await rig.look()
    assert rig.facts.changed == (SAID,)
    since: float | None = rig.facts.compared
    assert since == 130.0
    rig.manager.status = ManagerState.STARTING
    rig.change(1300, MTU)
    await rig.look()
    assert rig.facts.compared is None


async def test_an_order_and_a_file_that_is_not_in_force_make_a_whole_pass() -> None:
    rig = Rig()
    rig.settle()
    assert await rig.drift.look(READY, Request(1)) is None
    rig.drift.began()
    refused = Skipped("no node file", READY)
    assert rig.drift.ended(refused, Request()) == refused
    assert await rig.drift.look(READY, LATER) is None


async def test_a_file_that_is_left_for_an_order_is_not_compared() -> None:
    """The network is that of another file, so it would differ."""
    rig = Rig()
    rig.drift.began()
    left = Done("another file", replace(READY, applied_digest="of another file"), Message.NETWORK_UNCHANGED)
    assert rig.drift.ended(rig.drift.in_force(rig.job, left), Request()) == left
    assert await rig.drift.look(READY, LATER) is None


KEYFILE = "/etc/NetworkManager/system-connections/eth0.nmconnection"
PROFILE = b"[connection]\nid=eth0\nuuid=u\ninterface-name=eth0\n\n[ipv4]\naddress1=192.0.2.5/24\n"


async def looks(rig: Rig) -> tuple[str, ...]:
    """Look until a change would be said; return what is."""
    for _ in range(3):
        await rig.look()
    return rig.facts.changed


async def test_a_profile_that_is_edited_alone_is_said_and_said_again_to_be_as_before() -> None:
    """The kernel does not show the edit yet: it takes effect with the next activation."""
    rig = Rig()
    rig.files.content[KEYFILE] = PROFILE
    rig.settle()
    assert await looks(rig) == ()
    rig.files.content[KEYFILE] = PROFILE.replace(b"192.0.2.5", b"192.0.2.7")
    assert await looks(rig) == ("the profile eth0 has ipv4.address1 192.0.2.7/24, not 192.0.2.5/24",)
    rig.files.content[KEYFILE] = PROFILE
    assert await looks(rig) == ()
    del rig.files.content[KEYFILE]
    assert await looks(rig) == ("the profile eth0 is deleted",)


BACKUPS = (f"{KEYFILE}~", f"{KEYFILE}.rpmsave", KEYFILE.replace("eth0", ".eth0"))


@pytest.mark.parametrize("backup", BACKUPS)
async def test_a_backup_is_no_profile(backup: str) -> None:
    """It hides no edit of the profile whose UUID it has, and nothing is said when it is written, changed or removed."""
    rig = Rig()
    rig.files.content |= {KEYFILE: PROFILE, backup: PROFILE}
    rig.settle()
    assert await looks(rig) == ()
    rig.files.content[backup] = PROFILE.replace(b"192.0.2.5", b"192.0.2.8")
    assert await looks(rig) == ()
    rig.files.content[KEYFILE] = PROFILE.replace(b"192.0.2.5", b"192.0.2.7")
    assert await looks(rig) == ("the profile eth0 has ipv4.address1 192.0.2.7/24, not 192.0.2.5/24",)


async def test_a_profile_without_uuid_is_not_compared_with_another_one() -> None:
    rig = Rig()
    without = PROFILE.replace(b"uuid=u\n", b"")
    rig.files.content[KEYFILE] = without
    rig.settle()
    assert await looks(rig) == ()
    rig.files.content[KEYFILE.replace("eth0", "other")] = without.replace(b"id=eth0", b"id=other")
    assert await looks(rig) == ()


@pytest.mark.parametrize("place", [KEYFILE, str(PurePosixPath(KEYFILE).parent)])
@pytest.mark.parametrize("when", ["at first", "later"])
@pytest.mark.parametrize("error", [PublishFailed("is broken"), NodeFileInvalid("is no directory"), Unavailable("busy")])
async def test_profiles_that_cannot_be_read_are_not_known_at_present(
    place: str, when: str, error: NodenetError
) -> None:
    """They are not said to be deleted, and the daemon goes on; later they are compared."""
    rig = Rig()
    rig.files.content[KEYFILE] = PROFILE
    if when == "at first":
        rig.files.bad[place] = error
    rig.settle()
    rig.files.bad[place] = error
    assert await looks(rig) == ()
    assert rig.facts.compared is None
    rig.files.bad.clear()
    assert await looks(rig) == ()
    assert rig.facts.compared
    rig.files.content[KEYFILE] = PROFILE.replace(b"192.0.2.5", b"192.0.2.7")
    assert await looks(rig) == ("the profile eth0 has ipv4.address1 192.0.2.7/24, not 192.0.2.5/24",)


async def test_a_profile_that_nodenetd_itself_changes_for_br_ex_is_no_difference() -> None:
    """That of the link below it, when br-ex is made; from then on an edit of another one is said."""
    rig = Rig()
    rig.files.content[KEYFILE] = PROFILE
    rig.settle()
    rig.facts = replace(READY, bridge="br-ex")
    rig.files.content[KEYFILE] = PROFILE.replace(b"[ipv4]", b"autoconnect=false\n[ipv4]")
    assert await looks(rig) == ()
    rig.files.content[KEYFILE] = PROFILE.replace(b"id=eth0\n", b"id=eth0\nport-type=ovs-port\n")
    assert await looks(rig) == ()
    rig.files.content[KEYFILE] = PROFILE
    assert await looks(rig) != ()


async def test_an_option_of_a_bond_is_compared_alone() -> None:
    """The kernel sends no event for it."""
    rig = Rig()
    option = "/sys/class/net/eth0/bonding/miimon"
    rig.files.content[option] = b"100\n"
    rig.kernel.now = replace(rig.kernel.now, links=(replace(ETH0, kind="bond"),))
    rig.settle()
    assert await looks(rig) == ()
    rig.nmstate.left = MTU
    assert await looks(rig) == (), "nothing that is looked at has changed"
    rig.files.content[option] = b"500\n"
    assert await looks(rig) == (SAID,)


async def test_a_link_that_is_set_down_is_said_and_what_it_has_lost_is_not() -> None:
    rig = Rig()
    rig.settle()
    await rig.look()
    rig.kernel.now = replace(rig.kernel.now, links=(replace(ETH0, up=False, carrier=False),))
    rig.nmstate.left = MTU
    assert await looks(rig) == ("eth0 is set down",)


async def test_the_settings_make_a_problem_of_it() -> None:
    """The stage has done its work, and the node is degraded until the network is as before."""
    rig = Rig(degrades=True)
    rig.settle()
    await rig.look()
    rig.change(1400, MTU)
    assert await looks(rig) == (SAID,)
    outcome = await rig.drift.look(rig.facts, LATER)
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == f"The network is not as worker-0.yml asks any more: {SAID}"
    rig.change(1500, {})
    await looks(rig)
    outcome = await rig.drift.look(rig.facts, LATER)
    assert isinstance(outcome, Done)
    assert outcome.problem is None


async def test_a_look_at_a_network_that_stays_asks_no_other_process() -> None:
    """Neither NetworkManager nor libnmstate nor Open vSwitch: each would be woken twice a minute."""
    rig = Rig()
    rig.files.content[KEYFILE] = PROFILE
    rig.settle()
    await looks(rig)
    rig.manager.status = ManagerState.ABSENT
    rig.nmstate.difference_fails = NmstateFailure(FailureKind.INTERNAL, "asked")
    rig.nmstate.left = MTU
    assert await looks(rig) == ()
    rig.manager.status, rig.nmstate.difference_fails = ManagerState.READY, None
    rig.change(1400, MTU)
    assert await looks(rig) == (SAID,)
