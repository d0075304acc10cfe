"""What happens to the unit of a hosted service, how often, and does another stack serve in its place?"""

import re
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from core.hosted_services.test_report import GOOD, MAC, PLAN
from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services import units
from nodenet.core.hosted_services.model import Origin, Service
from nodenet.core.hosted_services.report import document
from nodenet.core.hosted_services.units import (
    FIRST_SECONDS,
    LONGEST_SECONDS,
    Budget,
    Listener,
    Now,
    Order,
    Others,
    Restarts,
    Running,
    may_stop,
    order,
    why_waiting,
)
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.status.bus_interfaces import introspection


def test_quiet_times_give_it_back_and_no_more() -> None:
    budget = Budget(2, 10.0).used(0).used(0)
    assert budget.wait(0) == 10
    assert round(budget.wait(4), 6) == 6
    assert budget.wait(15) == 0
    later = budget.used(1e9).used(1e9)
    assert later.wait(1e9) == 10


def test_each_start_that_fails_puts_the_next_one_off() -> None:
    pauses, restarts, now = [], Restarts(), 100.0
    for _ in range(8):
        restarts = restarts.after_start(now)
        pauses.append(restarts.left(now))
        now += pauses[-1]
    assert pauses[0] == FIRST_SECONDS
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_SECONDS


INPUTS = read_inputs(CASES / "control-plane")
DISK = replace(INPUTS, spec_origin=Origin.CACHE, nodes_origin=Origin.CACHE)


@pytest.mark.parametrize(
    ("wanted", "now", "expected"),
    [
        (True, Now(runs=False), Order.START),
        (True, Now(runs=True), Order.NOTHING),
        (True, Now(runs=True, differs=True), Order.RELOAD),
        (True, Now(runs=False, differs=True), Order.START),
        (False, Now(runs=False), Order.NOTHING),
        (False, Now(runs=True), Order.STOP),
        (True, Now(runs=True, waits="another stack"), Order.STOP),
        (True, Now(runs=False, waits="another stack"), Order.NOTHING),
        (True, Now(runs=True, drained=True), Order.STOP),
        (True, Now(runs=False, drained=True), Order.NOTHING),
        (True, Now(runs=True, differs=True, hangs=True), Order.RESTART),
        (True, Now(runs=False, hangs=True), Order.START),
        (False, Now(runs=True, hangs=True), Order.STOP),
    ],
)
def test_the_order_that_follows(wanted: bool, now: Now, expected: Order) -> None:  # noqa: FBT001
    live = replace(INPUTS, spec_origin=Origin.LIVE)
    assert order(Service.HAPROXY, wanted=wanted, inputs=live, now=now) is expected


def test_what_is_on_disk_stops_nothing() -> None:
    assert order(Service.HAPROXY, wanted=False, inputs=DISK, now=Now(runs=True)) is Order.NOTHING
    assert not may_stop(Service.KEEPALIVED, DISK)


def test_the_api_and_the_settings_stop_what_runs() -> None:
    assert may_stop(Service.KEEPALIVED, replace(DISK, nodes_origin=Origin.LIVE))
    assert not may_stop(Service.DNSMASQ, replace(DISK, nodes_origin=Origin.LIVE))
    assert may_stop(Service.KEEPALIVED, replace(DISK, options=replace(DISK.options, user_managed_lb=True)))
    assert may_stop(Service.DNSMASQ, replace(DISK, options=replace(DISK.options, platform="none")))


def test_what_is_about_to_run() -> None:
    assert Running("loaded", "activating").is_settling
    assert Running("loaded", "inactive", job=True).is_settling
    assert not Running("loaded", "failed").is_settling


PORTS = (9445, 9444)


@pytest.mark.parametrize("service", [Service.KEEPALIVED, Service.HAPROXY])
@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_static_pod_of_the_same_service_is_waited_for(service: Service, suffix: str) -> None:
    others = Others(manifests={f"{service}{suffix}", "etcd.yaml"})
    assert why_waiting(service, others, PORTS) == (
        f"kubelet has the static pod /etc/kubernetes/manifests/{service}{suffix}: "
        "move that file away to let nodenet serve instead"
    )


def test_static_pods_of_others_and_files_that_were_moved_away_are_nothing() -> None:
    others = Others(manifests={"etcd.yaml", "haproxy.yaml.bak", "coredns.yaml"})
    assert why_waiting(Service.HAPROXY, others, PORTS) is None
    assert why_waiting(Service.KEEPALIVED, others, ()) is None


def test_a_foreign_listener_on_our_port_is_waited_for_and_our_own_is_not() -> None:
    ours, foreign = Listener(9445, ours=True), Listener(9445, ours=False)
    assert why_waiting(Service.HAPROXY, Others(listeners=(ours,)), PORTS) is None
    assert why_waiting(Service.HAPROXY, Others(listeners=(ours, foreign)), PORTS) == (
        "another program listens on port 9445: see `ss -ltnp sport = :9445`"
    )
    assert why_waiting(Service.HAPROXY, Others(listeners=(Listener(6443, ours=False),)), PORTS) is None


def test_the_former_stack_s_coredns_goes_before_our_dnsmasq() -> None:
    reason = why_waiting(Service.DNSMASQ, Others(manifests={"coredns.yaml"}), ())
    assert reason
    assert reason.startswith("kubelet has the static pod /etc/kubernetes/manifests/coredns.yaml")


def test_a_foreign_listener_is_named_and_one_on_another_address_is_in_nobody_s_way() -> None:
    named = Listener(53, ours=False, address=ip_address("127.0.0.53"), program="named.service")
    assert why_waiting(Service.DNSMASQ, Others(listeners=(named,)), (53,)) == (
        "named.service listens on port 53: see `ss -ltnp sport = :53`"
    )
    assert not named.is_at((ip_address("127.0.0.1"), ip_address("192.0.2.10")))
    assert Listener(53, ours=False, address=ip_address("::")).is_at(())


def test_another_program_that_speaks_vrrp_keeps_keepalived_only() -> None:
    assert why_waiting(Service.KEEPALIVED, Others(speakers=1), ()) == (
        "another program of this node speaks VRRP: see `ss -lwnp`, and stop it"
    )
    assert why_waiting(Service.HAPROXY, Others(speakers=1), PORTS) is None


CONTRACT = Path(__file__).parents[3] / "units" / "dbus" / "org.nodenet1.Hosted.xml"


def plain(xml: str) -> str:
    """Return *xml* without comments, names of arguments and spaces between elements."""
    text = re.sub(r"<!--.*?-->|<!DOCTYPE.*?>|<\?xml.*?\?>", "", xml, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", re.sub(r'<arg name="\w+" ', "<arg ", text)).strip()


def test_the_reviewed_contract_is_what_is_offered() -> None:
    assert plain(CONTRACT.read_text()) == introspection(units.PATH, units.OBJECTS)


def test_every_property_has_a_value() -> None:
    assert set(units.values(document(GOOD))) == set(units.HOSTED.properties)


def test_a_vip_that_moved_is_a_signal() -> None:
    vip = PLAN.vips[0].address
    moved = replace(GOOD, sightings={**GOOD.sightings, vip: Sighting(vip, here=True)})
    assert units.signals(document(GOOD), document(moved)) == [[str(vip), True, ["master-0"]]]
    assert units.signals(document(GOOD), document(GOOD)) == []
    split = replace(GOOD, sightings={**GOOD.sightings, vip: Sighting(vip, here=True, others=frozenset({MAC}))})
    assert units.signals(document(moved), document(split)) == [[str(vip), True, ["master-0", "master-1"]]]
