"""Which node IP does the administrator ask for, in the settings and in the hint file?"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.errors import SettingsInvalid
from nodenet.core.ip import Family
from nodenet.core.node_ip.policy import HintReading, Policy, parse_environment, parse_value
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen

HINT_FILE = "/etc/default/nodeip-configuration"
"""The environment file that the replaced tools read, and administrators know."""


@frozen
class PolicyReading:
    """The policy, and a problem for each hint that could not be understood."""

    policy: Policy
    problems: tuple[SettingsInvalid, ...] = ()


def read_policy(settings: Settings, hint_file: bytes | None) -> PolicyReading:
    """Return the policy of *settings* with the hints of the environment file, which outrank theirs."""
    reading = HintReading()
    if hint_file is not None:
        reading = parse_environment(hint_file.decode("utf-8", errors="replace"), HINT_FILE)
    reading |= parse_value(settings.hint.text, f"{settings.hint.file}, key hint")
    return PolicyReading(policy_from(settings, reading), reading.problems)


def noted(selection: Selection, asked: PolicyReading) -> Selection:
    """Return *selection* with a note for each hint that could not be understood: it may be why."""
    return replace(selection, notes=(*map(str, asked.problems), *selection.notes))


def policy_from(settings: Settings, reading: HintReading) -> Policy:
    """Return the policy that *settings* and the hints of *reading* make."""
    families = settings.families
    return Policy(
        api_vips=settings.api_vips,
        ingress_vips=settings.ingress_vips,
        hints=reading.hints,
        hint_required=settings.hint_required,
        families="auto" if families == "auto" else tuple(Family(family) for family in families),
        network_type=settings.network_type,
        platform=settings.platform,
        user_managed_lb=settings.user_managed_lb,
        deny_links=settings.deny_links,
        masquerade_subnets=settings.ovn_masquerade_subnets,
        route_tables=settings.route_tables,
    )
