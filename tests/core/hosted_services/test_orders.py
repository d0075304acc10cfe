"""Start, reload, stop: only what is known for sure stops what runs."""

from dataclasses import replace

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.model import Origin, Service
from nodenet.core.hosted_services.units import Now, Order, may_stop, order

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
