"""Documents from several sources, good and hostile ones, become the inputs of one plan."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.cluster import (
    Cached,
    CacheInvalid,
    Cluster,
    asked,
    choose,
    known,
    led_on,
    parse_cached,
    render_cached,
)
from nodenet.core.hosted_services.migration import Migration, Phase, render
from nodenet.core.hosted_services.model import ClusterNode, Here, Options, Origin, Role, Spec
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.resource import GROUP, KIND, VERSION

VERIFY = {"phase": "Verify", "from": ["192.0.2.2"], "to": ["192.0.2.9"]}
SWITCH = VERIFY | {"phase": "SwitchDNS"}


def made(spec: Any, record: Any = None) -> dict[str, Any]:
    status = {"nodes": []} | ({"migration": record} if record else {})
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": "cluster"},
        "spec": spec,
        "status": status,
    }


GOOD, WRONG = {"ingressHa": "Disabled"}, {"ingressHa": "perhaps"}


def test_the_record_goes_on_under_a_spec_that_is_not_valid() -> None:
    good = made(GOOD, VERIFY)
    assert led_on(None, good) is good
    assert led_on(good, made({}, SWITCH)) == made({}, SWITCH)
    assert led_on(good, made(WRONG, SWITCH)) == made(GOOD, SWITCH)
    assert led_on(None, made(WRONG, SWITCH)) is None
    assert led_on(good, made(WRONG, {"phase": "Fast"})) is good, "a record that cannot be read replaces none"


def test_an_edit_and_a_phase_are_taken_at_once_and_nodes_are_not() -> None:
    assert asked(None) is None
    assert asked(made(GOOD, VERIFY)) != asked(made(GOOD, SWITCH))
    assert asked(made(GOOD)) != asked(made({}))
    assert asked(made(GOOD)) == asked(made(GOOD) | {"status": {"nodes": [{"name": "m0"}]}})


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


DOMAIN = "ostest.example.com"
CACHED = Cached({"spec": {"ingressHa": "Disabled"}}, DOMAIN, "4711", 3, "boot-1")


def test_what_was_written_is_read() -> None:
    assert parse_cached(render_cached(CACHED), DOMAIN) == CACHED
    assert render_cached(CACHED) == render_cached(parse_cached(render_cached(CACHED), DOMAIN))


def test_another_clusters_file_is_not_used() -> None:
    with pytest.raises(CacheInvalid, match=r"it is of the cluster 'ostest\.example\.com', not of other\.example\.com"):
        parse_cached(render_cached(CACHED), "other.example.com")


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    with pytest.raises(CacheInvalid):
        parse_cached(content, DOMAIN)


HERE = Here("m0")
OPTIONS = Options(platform="baremetal", cluster_domain="c1.example.com", api_vips=(ip_address("192.0.2.2"),))


def resource(spec: dict[str, Any], nodes: list[Any] | None = None) -> dict[str, Any]:
    found = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": {"name": "cluster"}, "spec": spec}
    return found | {"status": {"nodes": nodes or []}}


def node(name: str, address: str = "192.0.2.10", *labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": dict.fromkeys(labels, "")},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }


MASTER = "node-role.kubernetes.io/control-plane"


def test_an_explicit_role_wins_over_the_labels() -> None:
    options = Options(role=Role.WORKER)
    assert known(Cluster(own=node("m0", "192.0.2.10", MASTER)), options, HERE).inputs.options is options


def test_a_document_that_cannot_be_used_is_named_and_the_next_one_is_used() -> None:
    cluster = Cluster(
        {Origin.LIVE: resource({"ingressHa": "Maybe"}), Origin.CACHE: resource({"ingressHa": "Disabled"})},
        {Origin.LIVE: "no list", Origin.CACHE: [node("m0")]},
    )
    found = known(cluster, OPTIONS, HERE)
    assert (found.inputs.spec_origin, found.inputs.nodes_origin) == (Origin.CACHE, Origin.CACHE)
    assert found.problems == (
        "HostedNetServices (cr) is not used: spec.ingressHa is 'Maybe'; expected Enabled or Disabled",
        "The nodes (cr) are not used: the list of nodes is not a list",
    )


def test_a_live_list_without_the_control_plane_is_named_and_the_cached_one_is_used() -> None:
    nodes = {Origin.LIVE: [node("w0", "192.0.2.20")], Origin.CACHE: [node("m0", "192.0.2.10", MASTER)]}
    found = known(Cluster(nodes=nodes), OPTIONS, HERE)
    assert [one.name for one in found.inputs.nodes] == ["m0"]
    (problem,) = found.problems
    assert problem == (
        "No Node of the API has the control-plane role, and the list of the cache is used: wait until these nodes have "
        "registered, or label their Node objects"
    )


def test_hostile_strings_reach_no_configuration() -> None:
    """Newlines, quotes and braces in names and addresses: such a node is left out, and counted."""
    hostile = ["m1\nserver evil 192.0.2.66:6443", 'm2"', "m3 }", "../m4", "m5\0", "", "m" * 300, "M6", 7, None]
    nodes = [
        node("m0", "192.0.2.10", MASTER),
        *({"metadata": {"name": name, "labels": {MASTER: ""}}, "status": node("x")["status"]} for name in hostile),
        node("m7", "192.0.2.9\nbind 0.0.0.0:1", MASTER),
        node("m8", "0.0.0.0", MASTER),  # noqa: S104
    ]
    found = known(Cluster(nodes={Origin.LIVE: nodes}), OPTIONS, HERE)
    assert [one.name for one in found.inputs.nodes] == ["m0"]
    assert found.problems == (
        "12 nodes (cr) are left out: their names or addresses cannot be used. Correct these Node objects",
    )
    made = plan(found.inputs)
    assert not any("evil" in text or "bind 0.0.0.0:1\n" in text for text in (*made.texts.values(), made.hosts))
    spec = resource({"apiintIpAddress": "192.0.2.50\nport=5353"})
    assert known(Cluster({Origin.LIVE: spec}), OPTIONS, HERE).inputs.spec_origin is Origin.DEFAULT


def moved(spec: dict[str, Any], phase: Phase) -> Cluster:
    """Return a cluster whose API moves from its VIP to 192.0.2.9."""
    found = resource(spec)
    record = render(Migration(phase, OPTIONS.api_vips, (ip_address("192.0.2.9"),), 1))
    return Cluster({Origin.LIVE: found | {"status": {**found["status"], "migration": record}}})


def test_a_file_leads_no_migration() -> None:
    """The record in a copy of the object won over the address that the administrator wrote into it."""
    copy = moved({"apiintIpAddress": "192.0.2.8"}, Phase.DRAIN_HAPROXY).resources[Origin.LIVE]
    found = known(Cluster({Origin.FILE: copy}), OPTIONS, HERE)
    assert found.inputs.spec.migration is None
    assert plan(found.inputs).api_int.addresses == (ip_address("192.0.2.8"),)
    bad = {**copy, "spec": {"ingressHa": "perhaps"}}
    again = known(Cluster({Origin.FILE: bad}), OPTIONS, HERE, found.specs)
    assert again.inputs.spec == found.inputs.spec


def test_a_spec_that_is_not_valid_stops_no_node_in_the_middle_of_a_migration() -> None:
    good = known(moved({"ingressHa": "Disabled"}, Phase.VERIFY), OPTIONS, HERE)
    found = known(moved({"ingressHa": "perhaps"}, Phase.SWITCH_DNS), OPTIONS, HERE, good.specs)
    assert found.inputs.spec.ingress_ha is False, "the last good spec"
    assert found.inputs.spec.migration is not None
    assert found.inputs.spec.migration.phase is Phase.SWITCH_DNS
    assert plan(found.inputs).api_int.addresses == (ip_address("192.0.2.9"),)
