"""Which address api-int has, beyond the cases under ``fixtures/hosted_services`` (api-int-*)."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.api_int import api_int, ways
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Mode, Options, Origin, Role, Spec
from nodenet.core.ip import IPAddress

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
    assert ways(replace(ASKED, dead=frozenset({EXTERNAL}))) == ((EXTERNAL,), (VIP,))
    assert api_int(replace(ASKED, dead=frozenset({VIP}))).mode is Mode.EXTERNAL, "another one was dead"


def test_no_load_balancer_is_asked_where_the_vip_has_the_name() -> None:
    assert ways(replace(ASKED, spec=Spec(api_int_addresses=(VIP,)))) == ((VIP,),)
    assert ways(replace(ASKED, spec=Spec(), options=replace(OPTIONS, user_managed_lb=True))) == ((VIP,),)


BEFORE = ip_address("192.0.2.201")


def moving(phase: Phase, origin: IPAddress, target: IPAddress, *dead: IPAddress) -> Inputs:
    """Return the inputs in a phase of a migration."""
    spec = Spec(migration=Migration(phase, (origin,), (target,), 1))
    return replace(ASKED, spec=spec, dead=frozenset(dead))


def test_in_a_migration_the_load_balancer_of_before_takes_the_place_of_a_dead_one_and_then_the_vip() -> None:
    for dead, used in (((), EXTERNAL), ((EXTERNAL,), BEFORE), ((EXTERNAL, BEFORE), VIP)):
        found = api_int(moving(Phase.DRAIN_EXTERNAL, BEFORE, EXTERNAL, *dead))
        assert found.addresses == (used,)
        assert found.mode is (Mode.SELF_HOSTED if used == VIP else Mode.EXTERNAL)
    found = api_int(moving(Phase.DRAIN_EXTERNAL, BEFORE, EXTERNAL, EXTERNAL))
    assert found.problem == (
        "The external load balancer 192.0.2.200 does not answer, and api-int is the external load balancer "
        "192.0.2.201 until it does: see to the load balancer, or remove apiintIpAddress"
    )
    assert ways(moving(Phase.VERIFY, BEFORE, EXTERNAL)) == ((BEFORE,), (VIP,), (EXTERNAL,)), "not verified yet"


def test_in_a_migration_back_the_load_balancer_takes_the_place_of_a_dead_vip() -> None:
    found = api_int(moving(Phase.DRAIN_EXTERNAL, BEFORE, VIP, VIP))
    assert (found.addresses, found.mode, found.origin) == ((BEFORE,), Mode.EXTERNAL, Origin.LIVE)
    assert found.problem == (
        "The API does not answer at its VIP 192.0.2.2, and api-int is the external load balancer 192.0.2.201 until it "
        "does: see `nodenetctl explain vip`"
    )
    assert ways(moving(Phase.SELF_HOSTED, BEFORE, VIP)) == ((VIP,),), "it may be gone"


def test_what_the_object_asks_for_takes_the_place_of_a_dead_vip() -> None:
    assert ways(moving(Phase.VERIFY, VIP, EXTERNAL)) == ((VIP,), (EXTERNAL,))
    failed = Migration(Phase.SELF_HOSTED, (VIP,), (VIP,), 1, outcome=Outcome.VERIFY_FAILED)
    rest = replace(ASKED, spec=replace(ASKED.spec, migration=failed))
    assert ways(rest) == ((VIP,), (EXTERNAL,))
    assert ways(replace(rest, nodes=(ClusterNode("m0", (EXTERNAL,), Role.CONTROL_PLANE),))) == ((VIP,),)


def test_a_load_balancer_of_before_that_cannot_be_right_takes_no_place() -> None:
    taken = replace(
        moving(Phase.DRAIN_EXTERNAL, BEFORE, VIP), nodes=(ClusterNode("m0", (BEFORE,), Role.CONTROL_PLANE),)
    )
    assert ways(taken) == ((VIP,),)


@pytest.mark.parametrize(("role", "mode"), [(Role.WORKER, Mode.EXTERNAL), (Role.CONTROL_PLANE, Mode.SELF_HOSTED)])
def test_a_worker_that_claims_the_balancer_s_address_is_named_and_changes_nothing(role: Role, mode: Mode) -> None:
    """Kubelet of a worker reports its addresses itself: it could otherwise take the name from the load balancer."""
    found = api_int(replace(ASKED, nodes=(ClusterNode("n0", (EXTERNAL,), role),)))
    assert found.mode is mode
    assert found.problem == ("apiintIpAddress 192.0.2.200 is the address of node n0: name the load balancer's address")
