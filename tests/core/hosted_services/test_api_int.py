"""Which address api-int has, beyond the cases under ``fixtures/hosted_services`` (api-int-*)."""

from ipaddress import ip_address

from nodenet.core.hosted_services.api_int import api_int
from nodenet.core.hosted_services.model import Here, Inputs, Mode, Options, Origin, Spec

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
