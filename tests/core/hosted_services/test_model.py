"""The values of hosted services: which address of a node is of which family."""

from ipaddress import ip_address

from nodenet.core.hosted_services.model import Options, Purpose, Spec, of_family
from nodenet.core.ip import Family

BOTH = (ip_address("2001:db8::2"), ip_address("192.0.2.2"))


def test_one_address_of_a_family_is_found() -> None:
    assert [of_family(BOTH, family) for family in Family] == [BOTH[1], BOTH[0]]
    assert of_family(BOTH[:1], Family.IPV4) is None


def test_each_purpose_has_its_vips() -> None:
    options = Options(api_vips=BOTH[:1], ingress_vips=BOTH[1:])
    assert {purpose: options.vips(purpose) for purpose in Purpose} == {Purpose.API: BOTH[:1], Purpose.INGRESS: BOTH[1:]}


def test_fields_that_are_disabled_are_named_as_in_the_resource() -> None:
    assert Spec().switched_off == ()
    every = Spec(nodes_resolution=False, apps_resolution=False, api_int=False, ingress_ha=False)
    assert every.switched_off == (
        "spec.dns.nodesResolution",
        "spec.dns.appsResolution",
        "spec.dns.apiInt",
        "spec.ingressHa",
    )
