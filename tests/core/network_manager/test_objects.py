"""What do the objects that NetworkManager has on the bus mean? (its D-Bus API reference, "D-Bus API Types")"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv6Address
from pathlib import PurePath
from typing import Any

import pytest

from nodenet.core.network_manager.objects import (
    NAME,
    PATH,
    KeptProfile,
    inventory,
    lease4,
    lease6,
    path_of_link,
    profile,
)
from nodenet.core.network_manager.profiles import Device, Lease4, Lease6

LEASE = {
    "ip_address": "10.88.0.113",
    "subnet_mask": "255.255.255.0",
    "routers": "10.88.0.1 10.88.0.2",
    "dhcp_client_identifier": "01:52:54:00:88:01:00",
    "expiry": "1795251875",
    "dhcp_lease_time": "3600",
    "requested_routers": "1",
}


def device(number: int, link: str, kind: int, **properties: Any) -> dict[str, dict[str, dict[str, Any]]]:
    general = {
        "Interface": link,
        "DeviceType": kind,
        "Real": True,
        "Managed": True,
        "ActiveConnection": "/",
        "Dhcp4Config": "/",
        "Dhcp6Config": "/",
        "HwAddress": "52:54:00:88:01:0A",
        "State": 100,
        "StateReason": [100, 0],
        **properties,
    }
    return {f"{PATH}/Devices/{number}": {f"{NAME}.Device": general}}


def test_a_device_with_its_profile_and_lease() -> None:
    """What is said in four objects, joined."""
    objects = {
        PATH: {NAME: {"Capabilities": [1, 2], "GlobalDnsConfiguration": {"searches": ["a.example"]}}},
        **device(2, "eth0", 1, ActiveConnection="/active/1", Dhcp4Config="/dhcp4/1", Dhcp6Config="/dhcp6/1"),
        "/active/1": {f"{NAME}.Connection.Active": {"Connection": "/settings/1"}},
        "/dhcp4/1": {f"{NAME}.DHCP4Config": {"Options": LEASE}},
        "/dhcp6/1": {f"{NAME}.DHCP6Config": {"Options": {"dhcp6_client_id": "00:04", "iaid": "2a:83:5d:db"}}},
        "/settings/1": {f"{NAME}.Settings.Connection": {"Unsaved": True, "Flags": 3, "Filename": "/run/x"}},
    }
    objects[f"{PATH}/Devices/2"][f"{NAME}.Device.Wired"] = {"PermHwAddress": "52:54:00:00:00:01"}
    found = inventory(objects, {"/settings/1": {"connection": {"uuid": "u", "id": "Wired", "type": "802-3-ethernet"}}})
    (eth0,) = found.devices
    (wired,) = found.profiles
    assert found.ovs
    assert found.global_dns
    assert (wired.name, wired.on_disk, wired.path, wired.generated) == ("Wired", False, "/run/x", True)
    assert eth0 == Device(
        "eth0",
        "ethernet",
        "52:54:00:88:01:0a",
        "52:54:00:00:00:01",
        profile=wired,
        lease4=lease4(LEASE),
        lease6=Lease6(None, "00:04", "2a:83:5d:db"),
    )


def test_of_devices_with_one_name_the_link_is_the_last() -> None:
    """Open vSwitch's bridge and port come first, whenever they were made; so do their states."""
    objects = {
        **device(10, "br-ex", 26),
        **device(9, "br-ex", 24, StateReason=[120, 5]),
        **device(11, "br-ex", 25, StateReason=[30, 0]),
        **device(2, "eth0", 1, StateReason=[20, 40]),
        **device(3, "vlan5", 11, Real=False),
    }
    found = inventory(objects, {})
    assert [entry.kind for entry in found.devices] == ["ovs-bridge", "ovs-port", "ethernet", "ovs-interface"]
    assert found.states["br-ex"] == "failed (its IP configuration could not be made)"
    assert found.states["eth0"] == "unavailable (no carrier)"
    assert (found.ovs, found.global_dns) == (False, False)


def test_a_tun_device_that_is_not_managed_is_not_the_link() -> None:
    """Open vSwitch's userspace datapath makes one with the name of the ovs-interface, after that."""
    objects = {**device(9, "br-ex", 24), **device(12, "br-ex", 16, Managed=False, State=10, StateReason=[10, 0])}
    found = inventory(objects, {})
    assert [entry.kind for entry in found.devices] == ["tun", "ovs-interface"]
    assert found.states["br-ex"] == "activated"
    assert path_of_link(objects, "br-ex") == f"{PATH}/Devices/9"


def test_a_lease() -> None:
    """The first router is the gateway."""
    assert lease4(LEASE) == Lease4(
        IPv4Interface("10.88.0.113/24"), IPv4Address("10.88.0.1"), "01:52:54:00:88:01:00", 1795251875.0, 3600.0
    )
    assert lease4({}) is None


@pytest.mark.parametrize(
    ("routes", "gateway"),
    [("10.0.0.0/8 10.88.0.9 0.0.0.0/0 10.88.0.8", "10.88.0.8"), ("10.0.0.0/8 10.88.0.9", None), ("", "10.88.0.1")],
)
def test_classless_routes_outrank_the_router(routes: str, gateway: str | None) -> None:
    """RFC 3442: whoever understands them must not look at the router option."""
    lease = lease4({**LEASE, "rfc3442_classless_static_routes": routes})
    assert lease
    assert str(lease.gateway) == str(gateway)


def test_a_lease_of_dhcpv6() -> None:
    """Identity and address; without an address it is still an identity."""
    options = {"dhcp6_client_id": "00:04:8c", "iaid": "2a:83:5d:db", "ip6_address": "fd88::148"}
    assert lease6(options) == Lease6(IPv6Address("fd88::148"), "00:04:8c", "2a:83:5d:db")
    assert lease6({}) is None


def test_settings_are_readable() -> None:
    """Bytes as text, and none of the numbers that readable properties stand beside."""
    settings: dict[str, dict[str, Any]] = {
        "connection": {"uuid": "u", "id": "n", "type": "802-3-ethernet", "interface-name": "eth0"},
        "802-3-ethernet": {"mac-address": bytes.fromhex("525400880100")},
        "802-1x": {"ca-cert": b"file:///etc/ca.pem\0"},
        "ipv4": {
            "addresses": [[1, 24, 0]],
            "address-data": [{"address": "10.0.0.1", "prefix": 24}],
            "dns": [0x0100580A],
        },
        "ipv6": {"dns": [IPv6Address("fd88::1").packed]},
    }
    found = profile(settings, {"Unsaved": False, "Filename": "/etc/x"})
    assert (found.link, found.on_disk, found.generated) == ("eth0", True, False)
    assert found.setting("802-3-ethernet", "mac-address") == "52:54:00:88:01:00"
    assert found.setting("802-1x", "ca-cert") == "file:///etc/ca.pem"
    assert found.settings["ipv4"] == {
        "address-data": [{"address": "10.0.0.1", "prefix": 24}],
        "dns-data": ["10.88.0.1"],
    }
    assert found.setting("ipv6", "dns-data") == ["fd88::1"]


@pytest.mark.parametrize(
    ("state", "unsaved", "settled", "automatic"),
    [
        (100, False, True, False),
        (120, True, True, False),
        (70, True, False, True),
        (40, True, False, True),
        (70, False, False, False),
        (30, True, False, False),
        (20, True, False, False),
        (110, True, False, False),
    ],
)
def test_links_whose_activation_has_ended_or_is_that_of_a_profile_in_memory(
    state: int, *, unsaved: bool, settled: bool, automatic: bool
) -> None:
    """A device that is disconnected may be activated in the next moment."""
    objects = {
        **device(2, "eth0", 1, State=state, ActiveConnection="/active/1"),
        "/active/1": {f"{NAME}.Connection.Active": {"Connection": "/settings/1"}},
        "/settings/1": {f"{NAME}.Settings.Connection": {"Unsaved": unsaved}},
    }
    found = inventory(objects, {"/settings/1": {"connection": {"uuid": "u", "id": "Wired", "type": "802-3-ethernet"}}})
    assert ("eth0" in found.settled, "eth0" in found.automatic) == (settled, automatic)


@pytest.mark.parametrize(
    ("path", "in_memory", "file"),
    [("/etc/x", False, PurePath("/etc/x")), ("/run/x", True, None), ("", False, None)],
)
def test_only_a_profile_that_outlives_a_reboot_has_a_file(path: str, file: PurePath | None, *, in_memory: bool) -> None:
    """What was in memory only is given back in memory."""
    assert KeptProfile("u", "n", path, in_memory, {}).file == file
