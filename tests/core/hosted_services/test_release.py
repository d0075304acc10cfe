"""The batch that takes VIPs off, whatever happens to the companion."""

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.plan import plan, release_batch


def lines(case: str) -> str:
    return release_batch(plan(read_inputs(CASES / case)))


def test_each_vip_of_this_node_is_taken_off_every_link() -> None:
    assert lines("dual-stack-control-plane") == (
        "address flush to 192.0.2.2/32\n"
        "address flush to 2001:db8::2/128\n"
        "address flush to 192.0.2.3/32\n"
        "address flush to 2001:db8::3/128\n"
    )


def test_a_node_without_vips_deletes_nothing() -> None:
    assert lines("user-managed-lb") == lines("remote-worker") == ""


def test_a_vip_that_is_a_node_ip_is_never_deleted() -> None:
    assert "192.0.2.10" not in lines("vip-is-this-nodes-address")
