"""The report of a node: what is in it, and that any text of another host is read or refused."""

import json
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.hosted_services.test_report import GOOD, MAC, PLAN
from nodenet.core.hosted_cluster.node_report import (
    NodeReport,
    ReportInvalid,
    Stack,
    of,
    parse,
    render,
)
from nodenet.core.hosted_services.migration import Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode, Service
from nodenet.core.hosted_services.report import HostedHealth, ServiceState
from nodenet.core.hosted_services.vips import Sighting

VIP = PLAN.vips[0].address
FULL = NodeReport(
    Mode.SELF_HOSTED,
    HostedHealth.DEGRADED,
    Stack.NODENET,
    (VIP,),
    (VIP,),
    (Service.DNSMASQ, Service.HAPROXY),
    api=False,
    generation=7,
    problems=("haproxy: it does not run",),
    migration=Progress(4, Phase.SWITCH_DNS, ready=True, problem="late", lost=True),
    api_int=(ip_address("192.0.2.9"), ip_address("2001:db8::9")),
    uid="0ae1ff6c",
)


@pytest.mark.parametrize(
    "change", [{"attempt": -1}, {"attempt": "1"}, {"phase": "Fast"}, {"ready": 1}, {"lost": None}, {"problem": "x\ny"}]
)
def test_a_hostile_part_of_a_migration_is_refused_or_one_line(change: dict[str, Any]) -> None:
    found = json.loads(render(FULL))
    found["migration"] |= change
    try:
        part = parse(json.dumps(found)).migration
    except ReportInvalid:
        assert "problem" not in change
    else:
        assert part == Progress(4, Phase.SWITCH_DNS, ready=True, problem="x y", lost=True)


def test_a_healthy_holder_reports_its_vip_and_its_services() -> None:
    found = of(replace(GOOD, sightings={VIP: Sighting(VIP, here=True)}), 3)
    assert (found.mode, found.health, found.stack, found.healthy) == ("self-hosted", "progressing", "nodenet", False)
    assert (found.vips, found.split, found.generation, found.api) == ((VIP,), (), 3, True)
    assert found.services == tuple(Service)
    assert of(GOOD, 3).healthy


def test_two_holders_and_another_stack_are_seen() -> None:
    split = replace(GOOD, sightings={VIP: Sighting(VIP, here=True, others=frozenset({MAC}))})
    assert of(split, 0).split == (VIP,)
    waits = {Service.KEEPALIVED: ServiceState(wanted=True, running=False, problem="waits: static pod keepalived")}
    found = of(replace(GOOD, services=waits), 0)
    assert (found.stack, found.services) == (Stack.OTHER, ())


def changed(**parts: Any) -> str:
    return json.dumps({**json.loads(render(FULL)), **parts})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "it is not a text of at most 8192 bytes"),
        ("x" * 9000, "it is not a text of at most 8192 bytes"),
        ("{", "it is not JSON"),
        ("[" * 8000, "it is not JSON"),
        ("[]", "it is not of version 1"),
        (changed(version=2), "it is not of version 1"),
        (changed(mode="mine"), "a part of it is missing or wrong: "),
        (changed(vips=["192.0.2.2"] * 9), "a part of it is missing or wrong: 'vips'"),
        (changed(vips=[7]), "a part of it is missing or wrong: 'vips'"),
        (changed(vips=["everywhere"]), "a part of it is missing or wrong: "),
        (changed(services=["shell"]), "a part of it is missing or wrong: "),
        (changed(api="yes"), "a part of it is missing or wrong: 'api'"),
        (changed(api=1), "a part of it is missing or wrong: 'api'"),
        (changed(generation=-1), "a part of it is missing or wrong: 'generation'"),
        (changed(api_int="192.0.2.9"), "a part of it is missing or wrong: 'api_int'"),
        (changed(api_int=["192.0.2.9"] * 3), "a part of it is missing or wrong: 'api_int'"),
        (changed(api_int=[3221226009]), "a part of it is missing or wrong: 'api_int'"),
        (changed(api_int=["everywhere"]), "a part of it is missing or wrong: "),
        (changed(api_int=["127.0.0.1"]), "a part of it is missing or wrong: 'api_int'"),
        (changed(api_int=["2001:db8::9%x\n"]), "a part of it is missing or wrong: 'api_int'"),
        (changed(uid=7), "a part of it is missing or wrong: 'uid'"),
        (changed(uid="x" * 65), "a part of it is missing or wrong: 'uid'"),
        (changed(generation=True), "a part of it is missing or wrong: 'generation'"),
        ("{}", "it is not of version 1"),
        ('{"version":1}', "a part of it is missing or wrong: "),
    ],
)
def test_a_hostile_report_is_refused_in_one_line(text: object, why: str) -> None:
    with pytest.raises(ReportInvalid) as caught:
        parse(text)
    assert str(caught.value).startswith(why)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("part", [[], "x", 7, {}])
def test_a_part_of_a_migration_that_is_no_object_is_refused(part: object) -> None:
    with pytest.raises(ReportInvalid, match="a part of it is missing or wrong"):
        parse(changed(migration=part))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | st.dictionaries(st.sampled_from(list(json.loads(render(FULL)))), JSON).map(lambda d: changed(**d)))
def test_whatever_another_host_writes_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except ReportInvalid:
        return
    assert all(problem.isprintable() for problem in found.problems)
    assert all(vip == ip_address(str(vip)) for vip in found.vips)
