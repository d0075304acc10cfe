"""Which address api-int has, beyond the cases under ``fixtures/hosted_services`` (api-int-*)."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.api_int import api_int, load_balancer
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Mode, Options, Origin, Role, Spec

VIP, EXTERNAL = ip_address("192.0.2.2"), ip_address("192.0.2.200")
OPTIONS = Options("baremetal", "ostest.example.com", (VIP,))


def test_without_a_resource_it_is_the_vip() -> None:
    found = api_int(Inputs(OPTIONS, Here("master-0")))
    assert (found.addresses, found.origin, found.mode, found.problem) == (
        (VIP,),
        Origin.DEFAULT,
        Mode.SELF_HOSTED,
        None,
    )


def test_another_address_is_an_external_load_balancer() -> None:
    found = api_int(Inputs(OPTIONS, Here("master-0"), Spec(api_int_addresses=(EXTERNAL,)), Origin.LIVE))
    assert (found.addresses, found.origin, found.mode) == ((EXTERNAL,), Origin.LIVE, Mode.EXTERNAL)


ASKED = Inputs(OPTIONS, Here("master-0"), Spec(api_int_addresses=(EXTERNAL,)), Origin.LIVE)


def test_one_that_is_dead_since_the_boot_gives_its_name_to_the_vip_and_is_still_the_one_to_ask() -> None:
    found = api_int(replace(ASKED, dead=frozenset({EXTERNAL})))
    assert (found.addresses, found.mode) == ((VIP,), Mode.SELF_HOSTED)
    assert found.problem
    assert load_balancer(replace(ASKED, dead=frozenset({EXTERNAL}))) == (EXTERNAL,)
    assert api_int(replace(ASKED, dead=frozenset({VIP}))).mode is Mode.EXTERNAL, "another one was dead"


def test_no_load_balancer_is_asked_where_the_vip_has_the_name() -> None:
    assert load_balancer(replace(ASKED, spec=Spec(api_int_addresses=(VIP,)))) == ()
    assert load_balancer(replace(ASKED, spec=Spec(), options=replace(OPTIONS, user_managed_lb=True))) == ()


@pytest.mark.parametrize(("role", "mode"), [(Role.WORKER, Mode.EXTERNAL), (Role.CONTROL_PLANE, Mode.SELF_HOSTED)])
def test_a_worker_that_claims_the_balancer_s_address_is_named_and_changes_nothing(role: Role, mode: Mode) -> None:
    """Kubelet of a worker reports its addresses itself: it could otherwise take the name from the load balancer."""
    found = api_int(replace(ASKED, nodes=(ClusterNode("n0", (EXTERNAL,), role),)))
    assert found.mode is mode
    assert found.problem == ("apiintIpAddress 192.0.2.200 is the address of node n0: name the load balancer's address")
