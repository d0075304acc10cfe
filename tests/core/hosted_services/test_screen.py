"""One screen from the document, whole."""

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from core.hosted_services.test_report import GOOD, MAC, PLAN
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Spec
from nodenet.core.hosted_services.report import Report, document, lines
from nodenet.core.hosted_services.vips import REMEDY, Sighting

VIP, LB = PLAN.vips[0].address, ip_address("192.0.2.200")


def test_a_good_node() -> None:
    assert lines(document(GOOD)) == (
        "ok: self-hosted, SelfHosted (master-0, control-plane)",
        "api-int   192.0.2.2 (from the API VIP), the API answers there",
        "VIP       192.0.2.2       api      held by master-1",
        "VIP       192.0.2.3       ingress  held by master-1",
        "service   dnsmasq         runs",
        "service   keepalived      runs",
        "service   haproxy         runs",
        "service   redirect        runs",
    )


def test_a_split_and_what_is_not_seen() -> None:
    vip = PLAN.vips[0].address
    split: Report = replace(GOOD, sightings={vip: Sighting(vip, here=True, others=frozenset({MAC}))}, reachable=False)
    found = lines(document(split))
    assert "VIP       192.0.2.2       api      held by master-0, master-1 (this node)" in found
    assert "VIP       192.0.2.3       ingress  not seen on the wire" in found
    assert found[-2:] == (
        f"problem   The VIP 192.0.2.2 has 2 holders, master-0 and master-1 ({MAC}): {REMEDY}",
        "problem   The API does not answer through its VIP: see `nodenetctl explain vip`",
    )


def test_an_api_that_cannot_be_read() -> None:
    """The document had it, and the screen did not: a node that lives from its cache looked like any other."""
    cause = "The API cannot be verified: its certificate has expired on Nov 20 12:00:00 2026 GMT"
    assert lines(document(GOOD) | {"cluster": cause})[-1] == f"cluster   {cause}"
    assert lines(document(GOOD) | {"cluster": None}) == lines(document(GOOD))


def test_a_service_that_is_switched_off_is_shown() -> None:
    found = lines(document(replace(GOOD, spec=Spec(ingress_ha=False))))
    assert found[-1] == "switch    spec.ingressHa is Disabled"


def migrating(**changes: Any) -> list[str]:
    """Return the line of a migration."""
    asked = changes.pop("asked", ())
    record = replace(Migration(Phase.SELF_HOSTED, (VIP,), (VIP,)), **changes)
    shown = document(replace(GOOD, spec=Spec(api_int_addresses=asked, migration=record)))
    return [line for line in lines(shown) if line.startswith("migration")]


def test_a_migration_is_shown_while_it_moves_waits_or_has_failed() -> None:
    assert migrating() == migrating(asked=(VIP,)) == []
    (waits,) = migrating(asked=(LB,))
    assert waits == (
        f"migration the object asks for {LB}, and nodenet-operator has not begun: "
        "see `kubectl -n kube-system logs deployment/nodenet-operator`"
    )
    assert migrating(phase=Phase.EXTERNAL, target=(LB,))[0].startswith(f"migration the object asks for {VIP}, and")
    assert migrating(phase=Phase.VERIFY, target=(LB,), message="They check") == [
        f"migration Verify, {VIP} to {LB}: They check"
    ]
    assert migrating(asked=(LB,), failed=3, message="Rolled back") == ["migration Rolled back"]
