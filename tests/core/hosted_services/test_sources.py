"""The API outranks the cache, the cache the file, the file the defaults."""

from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.cluster import choose
from nodenet.core.hosted_services.model import ClusterNode, Origin, Role, Spec

OFF = Spec(ingress_ha=False)
NODE = ClusterNode("worker-0", (ip_address("192.0.2.20"),), Role.WORKER)


@pytest.mark.parametrize("first", [Origin.LIVE, Origin.CACHE, Origin.FILE])
def test_the_first_origin_that_has_a_spec_is_taken(first: Origin) -> None:
    later = list(Origin)[list(Origin).index(first) + 1 :]
    chosen = choose({first: OFF, **dict.fromkeys(later, Spec())}, {})
    assert (chosen.spec, chosen.spec_origin) == (OFF, first)


def test_without_any_the_defaults_are_taken() -> None:
    chosen = choose({}, {})
    assert (chosen.spec, chosen.spec_origin, chosen.nodes, chosen.nodes_origin) == (
        Spec(),
        Origin.DEFAULT,
        (),
        Origin.DEFAULT,
    )


def test_an_empty_list_of_nodes_is_none() -> None:
    """An API that lists no node is one that may not be asked; the cache goes on."""
    chosen = choose({}, {Origin.LIVE: (), Origin.CACHE: (NODE,)})
    assert (chosen.nodes, chosen.nodes_origin) == ((NODE,), Origin.CACHE)


def test_a_list_without_the_control_plane_does_not_replace_one_with_it() -> None:
    """The workers that register first would otherwise end the VIP by which all others register."""
    master = ClusterNode("master-0", (ip_address("192.0.2.10"),), Role.CONTROL_PLANE)
    chosen = choose({}, {Origin.LIVE: (NODE,), Origin.FILE: (master, NODE)})
    assert (chosen.nodes, chosen.nodes_origin) == ((master, NODE), Origin.FILE)
    chosen = choose({}, {Origin.LIVE: (NODE,), Origin.FILE: ()})
    assert (chosen.nodes, chosen.nodes_origin) == ((NODE,), Origin.LIVE), "its control plane is elsewhere"
