"""Where is the API of a cluster whose object has no record of that?

Such an object is that of a new cluster, or one that was deleted and made again while no operator ran. Its address may
be another one than that of before, and no node has verified it: the record begins where the nodes are.
"""

from __future__ import annotations

from nodenet.core.hosted_cluster.members import Member
from nodenet.core.hosted_cluster.migration_steps import View, rest_at
from nodenet.core.hosted_services.api_int import Addresses
from nodenet.core.hosted_services.migration import Migration
from nodenet.core.hosted_services.model import Mode


def first_record(view: View) -> Migration | None:
    """Return the record at rest at the address of the control-plane nodes, None while that is not known.

    Where nodes differ, the VIPs come first and the address that the object asks for comes last: that one is reached by
    a verified migration. An external address needs the reports of more than half of the nodes.
    """
    if view.spec is None:
        return None
    places = [place for one in view.voters if (place := _place(one, view))]
    if (vips := view.options.api_vips) in places:
        return rest_at(view, vips)
    if 2 * len(places) <= len(view.voters):
        return None
    asked = _in_order(view.asked(vips), view)
    others = [place for place in places if place != asked] or places
    return rest_at(view, max(others, key=lambda place: (others.count(place), str(place))))


def _place(member: Member, view: View) -> Addresses | None:
    """Return the addresses that ``api-int`` has on a node, None where they are not known.

    A node whose report is about another object, or another generation, may have moved since.
    """
    report = member.present
    if report is None or not report.is_about(view.uid, view.generation):
        return None
    if report.mode is Mode.SELF_HOSTED:  # at the VIPs of its own settings
        return view.options.api_vips
    if report.mode is Mode.DISABLED or not report.api_int:
        return None
    return None if view.refusal(report.api_int) else _in_order(report.api_int, view)


def _in_order(addresses: Addresses, view: View) -> Addresses:
    """Return *addresses* in one order, whatever the order of a report; the VIPs in that of the settings."""
    vips = view.options.api_vips
    return vips if set(addresses) == set(vips) else tuple(sorted(addresses, key=str))
