"""Which events are printed: each step once, whether it came from the bus or from the state file."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Waiting
from nodenet.core.boot.stages import Boot, new_boot
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import Selection, select
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER
from nodenet.core.status.document import BootStatus, document
from nodenet.core.status.text import Event, Known, of_document, of_properties, of_signal, places

FACTS = Facts()
PROBLEM = Problem(Message.APPLY_FAILED, "mtu is 1500", "Compare it")


def events_of(boot: Boot, now: float = 9.0) -> list[Event]:
    return list(of_document(document(BootStatus(boot, FACTS)), now))


def after(boot: Boot, outcome: Outcome, begun: float, ended: float) -> Boot:
    return boot.begun(StageName.NMSTATE, begun).after(StageName.NMSTATE, outcome, ended)


def test_the_present_state_is_told_whole_and_once() -> None:
    """Every stage, health and readiness; no problem is no news."""
    known = Known()
    first = list(known.news(events_of(new_boot({}, degrade=True))))
    assert [event.subject for event in first if event.kind == "stage"] == [name.value for name in StageName]
    assert [event.kind for event in first[len(StageName) :]] == ["health", "ready"]
    assert list(known.news(events_of(new_boot({}, degrade=True)))) == []


def test_a_step_heard_on_the_bus_is_not_told_again_by_the_file() -> None:
    """The file is read beside it, in case a signal was lost."""
    known, boot = Known(), new_boot({}, degrade=True)
    list(known.news(events_of(boot, 0.5)))
    signal = of_signal("StageChanged", ["nmstate", "waiting", "NetworkManager", 2_000_000, 1], 2.1)
    assert list(known.news(signal)) == [Event(2.0, "stage", "nmstate", "waiting", "NetworkManager")]
    assert list(known.news(events_of(after(boot, Waiting("NetworkManager"), 1.0, 2.0)))) == []


def test_a_step_that_was_overtaken_is_not_told() -> None:
    """The file said done before the signal of the start was read."""
    known, boot = Known(), new_boot({}, degrade=True)
    done = events_of(after(boot, Done("applied", FACTS, Message.NETWORK_APPLIED), 1.0, 5.0), 5.0)
    assert "done" in [event.status for event in known.news(done)]
    assert list(known.news(of_signal("StageChanged", ["nmstate", "running", "", 1_000_000, 1], 5.1))) == []
    again = of_signal("StageChanged", ["nmstate", "pending", "", 7_000_000, 2], 7.0)
    assert [event.status for event in known.news(again)] == ["pending"]


def test_a_problem_is_told_when_it_comes_and_when_it_goes() -> None:
    """With its remedy; by the file and by properties alike."""
    known, boot = Known(), new_boot({}, degrade=True)
    failed = events_of(after(boot, Failed(PROBLEM, FACTS), 1.0, 2.0))
    (problem,) = (event for event in known.news(failed) if event.kind == "problem")
    assert (problem.subject, problem.detail) == ("nmstate", "mtu is 1500. Compare it")
    error = [PROBLEM.message.value, "nmstate", PROBLEM.cause, PROBLEM.remedy]
    assert list(known.news(of_properties({"LastError": error}, 3.0))) == []
    (gone,) = known.news(of_properties({"LastError": ["", "", "", ""]}, 4.0))
    assert gone.status == "no problem"


def test_readiness_and_health_come_by_properties() -> None:
    events = list(of_properties({"Health": "ok", "Ready": True, "Link": "eth0"}, 1.0))
    assert [(event.kind, event.status) for event in events] == [("health", "ok"), ("ready", "ready")]


def test_every_signal_of_the_contract_is_told() -> None:
    """A new one needs words here; one of another version is passed over."""
    bodies: dict[str, list[Any]] = {
        "StageChanged": ["nmstate", "done", "", 1, 1],
        "NodeIPChanged": [["192.0.2.5"], "eth0"],
        "NodeIPDrift": ["192.0.2.5 is gone"],
        "NetworkApplied": ["worker-0.yml", "a" * 64],
        "RolledBack": ["a" * 64, "mtu is 1500"],
    }
    assert bodies.keys() == MANAGER.signals.keys()
    for member, body in bodies.items():
        assert len(list(of_signal(member, body, 1.0))) == 1, member
        assert list(of_signal(member, [], 1.0)) == []
    assert list(of_signal("Surprise", ["x"], 1.0)) == []


def test_a_document_is_never_late() -> None:
    """It says when a stage began, and may be read long after: while the bus is away it is all there is."""
    known, boot = Known(), new_boot({}, degrade=True)
    step = of_signal("StageChanged", ["nmstate", "waiting", "the bus", 900_000_000, 1], 900.0)
    assert [event.detail for event in known.news(step)] == ["the bus"]
    read = of_document(document(BootStatus(after(boot, Waiting("NetworkManager"), 1.0, 2.0))), 950.0)
    assert "NetworkManager" in [event.detail for event in known.news(read)]


def test_what_is_so_at_the_start_did_not_happen_then() -> None:
    """The time of a stage is known, that of readiness at the start is not; later events are new."""
    known, boot = Known(), after(new_boot({}, degrade=True), Done("applied", FACTS, Message.NETWORK_APPLIED), 1.0, 5.0)
    first = list(known.news(of_document(document(BootStatus(boot, FACTS)), 99.0, first=True)))
    assert {event.time for event in first} == {5.0, None}
    assert [event.time for event in first if event.kind in ("health", "ready")] == [None, None]
    (step,) = known.news(of_signal("StageChanged", ["nodeip", "running", "", 100_000_000, 1], 100.1))
    assert step.time == 100.0


# Each node IP with its own link and source.


def shown(selection: Selection) -> str:
    return places(document(BootStatus(new_boot({}, degrade=True), Facts(selection=selection))))


def dual(link6: str, named: frozenset[Family] = frozenset(Family), gateway6: str | None = None) -> Selection:
    """Return a selection of a static IPv4 address on eth0 and an advertised IPv6 address on *link6*."""
    links = (Link(2, "eth0"), Link(3, "eth1"))
    addresses = (
        Address(ip_address("192.0.2.5"), 24, "eth0"),
        Address(ip_address("2001:db8::5"), 64, link6, valid_lifetime=3600),
    )
    hop6 = NextHop(link6, ip_address(gateway6) if gateway6 else None)
    routes = (
        Route(ip_network("0.0.0.0/0"), (NextHop("eth0"),), 100),
        Route(ip_network("::/0"), (hop6,), 100, protocol="ra"),
    )
    return select(Snapshot(links, addresses, routes), Policy(named=named))


def test_node_ips_of_one_link_name_it_once() -> None:
    assert shown(dual("eth0")) == "192.0.2.5 (static), 2001:db8::5 (router advertisement) on eth0"


def test_the_router_that_gave_a_family_which_nothing_names_is_named() -> None:
    """Any host of a LAN can announce itself as a router."""
    given = "2001:db8::5 (router advertisement of fe80::bad"
    assert given + "; no file, hint or VIP names IPv6)" in shown(dual("eth0", frozenset(), "fe80::bad"))
    assert given + ")" in shown(dual("eth0", gateway6="fe80::bad"))


def test_a_node_ip_of_another_link_is_not_said_to_be_on_the_first_one() -> None:
    assert shown(dual("eth1")) == "192.0.2.5 (static) on eth0, 2001:db8::5 (router advertisement) on eth1"


def test_what_moves_to_a_bridge_is_on_the_bridge() -> None:
    """The other one stays where it is."""
    moved = dual("eth1").moved({"eth0": "br-ex"})
    assert (moved.link, shown(moved)) == (
        "br-ex",
        "192.0.2.5 (static) on br-ex, 2001:db8::5 (router advertisement) on eth1",
    )


def test_what_an_earlier_daemon_published_is_on_its_link() -> None:
    """Without a source; a document of an earlier version has no places at all."""
    kept = Selection((ip_address("192.0.2.5"), ip_address("2001:db8::5")), "eth0")
    assert shown(kept) == "192.0.2.5 on eth0, 2001:db8::5"
    assert places({"node_ips": ["192.0.2.5"], "link": "eth0"}) == "192.0.2.5 on eth0"
    assert places({"node_ips": [], "link": None}) == ""
