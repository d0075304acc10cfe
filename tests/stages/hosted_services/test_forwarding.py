"""Forwarding follows the node IP, on the platforms that ask for it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest
import structlog

from fakes import BOOT_ID, FakeSysctls
from nodenet.core.boot.outcome import Facts
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dns import forwarding_link
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Settings
from nodenet.core.status.document import BootStatus
from nodenet.stages.hosted_services.node_dns import Forwarding

V4, V6 = "net/ipv4/conf/forwarding", "net/ipv6/conf/forwarding"
VIPS = Settings(platform="baremetal", api_vips=(ip_address("192.0.2.2"),))
ON_ETH0 = Facts(selection=Selection((ip_address("192.0.2.9"),), "eth0"))
ON_BRIDGE = replace(ON_ETH0, bridge="br-ex", uplink="eth0")
OFF = {V4: "0", V6: "0"}


def status(facts: Facts) -> BootStatus:
    return BootStatus(new_boot({}, degrade=True), facts=facts, boot_id=BOOT_ID)


def forwarding(links: FakeSysctls, settings: Settings = VIPS) -> Forwarding:
    made = Forwarding(links)
    made.settings = settings
    return made


@pytest.mark.parametrize(
    ("settings", "facts", "link"),
    [
        (VIPS, Facts(), None),
        (VIPS, ON_ETH0, "eth0"),
        (VIPS, ON_BRIDGE, "br-ex"),
        (replace(VIPS, platform="nutanix"), ON_ETH0, "eth0"),
        (replace(VIPS, platform="aws"), ON_ETH0, None),
        (replace(VIPS, api_vips=()), ON_ETH0, None),
        (Settings(), ON_ETH0, None),
    ],
)
def test_which_link_forwards(settings: Settings, facts: Facts, link: str | None) -> None:
    """The one that carries the node IP, on premises, where there are VIPs."""
    assert forwarding_link(settings, facts) == link


def test_it_follows_the_node_ip_to_the_bridge() -> None:
    """What is set already is not written."""
    links = FakeSysctls({"eth0": {V4: "0", V6: "1"}, "br-ex": dict(OFF)})
    watch = forwarding(links)
    for facts in (Facts(), ON_ETH0, ON_ETH0, ON_BRIDGE, ON_BRIDGE):
        watch.show(status(facts))
    assert links.writes == [("eth0", {V4: "1"}), ("br-ex", {V4: "1", V6: "1"})]


def test_it_is_set_again_when_somebody_sets_it_back() -> None:
    """NetworkManager does when it reapplies the bridge's profile, which configure-ovs asks it for."""
    links = FakeSysctls({"br-ex": dict(OFF)})
    watch = forwarding(links)
    watch.show(status(ON_BRIDGE))
    links.values["br-ex"][V4] = "0"
    watch.show(status(ON_BRIDGE))
    assert links.values["br-ex"] == {V4: "1", V6: "1"}


def test_a_family_that_the_kernel_lacks_is_left_alone() -> None:
    """ipv6.disable=1 on the kernel's command line."""
    links = FakeSysctls({"eth0": {V4: "0"}})
    forwarding(links).show(status(ON_ETH0))
    assert links.writes == [("eth0", {V4: "1"})]


def test_what_cannot_be_set_is_told_once() -> None:
    """With the cause and the remedy; the boot goes on."""
    links = FakeSysctls({"eth0": dict(OFF)}, broken=Unavailable("/proc/sys/… cannot be set to 1: Read-only"))
    watch = forwarding(links)
    with structlog.testing.capture_logs() as lines:
        watch.show(status(ON_ETH0))
        watch.show(status(ON_ETH0))
    (line,) = lines
    assert line["message"] is Message.HOSTED_PROBLEM
    assert line["event"].startswith("eth0 does not forward packets")
    assert "conf/eth0/forwarding" in line["remedy"]


def test_a_bridge_over_another_link_does_not_forward_for_the_node_ip() -> None:
    """`default_bridge` may name another link than that of the node IP (R30)."""
    assert forwarding_link(VIPS, replace(ON_ETH0, bridge="br-ex", uplink="eth1")) == "eth0"
