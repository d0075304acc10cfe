"""The client of NetworkManager's profiles, against a stand-in on a real bus; the lab has the real NetworkManager."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.errors import NotAllowed, Unavailable
from nodenet.core.network_manager.objects import NAME, PATH, KeptProfile
from nodenet.core.network_manager.state import is_held
from nodenet.edge.bus.connection import PROPERTIES, Message, MessageType, Variant
from nodenet.edge.network_manager.profiles import IN_MEMORY, IN_MEMORY_ONLY, TO_DISK, Profiles

UUID = "27c8b5dd-4006-3837-adaa-400702e7ab0d"
SETTINGS = {
    "connection": {"id": Variant("s", "wired"), "uuid": Variant("s", UUID), "type": Variant("s", "802-3-ethernet")},
    "802-3-ethernet": {
        "mac-address": Variant("ay", bytes.fromhex("525400880101")),
        "s390": Variant("a{ss}", {"a": "b"}),
    },
    "802-1x": {"identity": Variant("s", "node")},
    "ipv4": {"address-data": Variant("aa{sv}", [{"address": Variant("s", "10.0.0.1"), "prefix": Variant("u", 24)}])},
    "ipv6": {"route-metric": Variant("x", 100)},
}


LEGACY = {"addresses": Variant("aau", [[16777226, 24, 0]])}
"""The same in the form of old, which NetworkManager tells too and would believe."""


@dataclass
class StandIn:
    """NetworkManager with one profile; *heard* are the calls that change something."""

    gone: bool = False
    hides: bool = False
    """Whether the profile is for another user."""
    knows_flags: bool = True
    idle: str = ""
    """How it refuses to disconnect a link, if it does."""
    link: str = ""
    """The link that the profile names, if it names one."""
    heard: list[tuple[str, list[Any]]] = field(default_factory=list)
    settings_told: int = 0
    of: list[str] = field(default_factory=list)
    """The objects they were made of."""

    def answer(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.interface == PROPERTIES and message.path == "/settings/1":
            value = {"Unsaved": Variant("b", True), "Filename": Variant("s", "/run/x")}[message.body[1]]
            return Message.new_method_return(message, "v", [value])
        if message.member == "GetConnectionByUuid":
            if self.gone or message.body != [UUID]:
                return Message.new_error(message, f"{NAME}.Settings.InvalidConnection", "No connection")
            return Message.new_method_return(message, "o", ["/settings/1"])
        replies = {
            "GetSettings": ("a{sa{sv}}", [{**SETTINGS, **self._named(), "ipv4": SETTINGS["ipv4"] | LEGACY}]),
            "GetSecrets": ("a{sa{sv}}", [{"802-1x": {"password": Variant("s", "secret")}}]),
            "GetManagedObjects": ("a{oa{sa{sv}}}", [self._objects()]),
        }
        self.settings_told += message.member == "GetSettings"
        if message.member in replies and not (self.hides and message.member == "GetSettings"):
            return Message.new_method_return(message, *replies[message.member])
        return self._change(message)

    def _named(self) -> dict[str, Any]:
        name = {"interface-name": Variant("s", self.link)} if self.link else {}
        return {"connection": SETTINGS["connection"] | name}

    def _objects(self) -> dict[str, Any]:
        connection = {f"{NAME}.Settings.Connection": {"Flags": Variant("u", 0), "Filename": Variant("s", "/etc/x")}}
        devices = {f"/device/{number}": {f"{NAME}.Device": _device(kind)} for number, kind in ((1, 1), (2, 26))}
        return {"/settings/1": connection, PATH: {NAME: {"Capabilities": Variant("au", [2])}}, **devices}

    def _change(self, message: Message) -> Message | None:
        if message.member == "GetSettings":
            return Message.new_error(message, f"{NAME}.Settings.PermissionDenied", "uid 7 has no permission")
        self.heard.append((message.member, message.body))
        self.of.append(message.path)
        if message.member == "Update2":
            return Message.new_method_return(message, "a{sv}", [{}])
        if message.member == "AddConnection2":
            return Message.new_method_return(message, "oa{sv}", ["/settings/2", {}])
        if message.member == "LoadConnections":
            return Message.new_method_return(message, "bas", [False, message.body[0]])
        old = message.member == "Reapply" and message.body[2] and not self.knows_flags
        if refusal := "InvalidArguments" if old else self.idle if message.member == "Disconnect" else "":
            return Message.new_error(message, f"org.freedesktop.NetworkManager.Device.{refusal}", "refused")
        return Message.new_method_return(message)


def _device(kind: int) -> dict[str, Variant]:
    """Return eth0, or the bridge of that name, by NMDeviceType."""
    return {
        "Interface": Variant("s", "eth0"),
        "DeviceType": Variant("u", kind),
        "Real": Variant("b", True),
        "Managed": Variant("b", True),
        **{name: Variant("o", "/") for name in ("ActiveConnection", "Dhcp4Config", "Dhcp6Config")},
    }


@contextlib.asynccontextmanager
async def profiles(private_bus: PrivateBus, service: StandIn) -> AsyncIterator[Profiles]:
    bus = quiet(private_bus.address)
    async with client(private_bus.address) as other, running(bus):
        other.add_message_handler(service.answer)
        await other.request_name(NAME)
        assert await bus.wait_up(5)
        yield Profiles(bus)


async def test_a_profile_that_is_hidden_is_not_absent(private_bus: PrivateBus) -> None:
    async with profiles(private_bus, StandIn(hides=True)) as made:
        with pytest.raises(NotAllowed, match="uid 7 has no permission"):
            await made.inventory()


async def test_everything_is_read(private_bus: PrivateBus) -> None:
    """Variants are gone, whatever they were in."""
    async with profiles(private_bus, StandIn()) as made:
        found = await made.inventory()
    assert found.ovs
    assert found.profiles[0].setting("ipv4", "address-data") == [{"address": "10.0.0.1", "prefix": 24}]


async def test_devices_alone_are_one_question(private_bus: PrivateBus) -> None:
    """A lease is waited for by asking ten times a second, on a node with dozens of profiles."""
    service = StandIn()
    async with profiles(private_bus, service) as made:
        whole, found = await made.inventory(), await made.inventory(profiles=False)
    assert found == replace(whole, profiles=())
    assert service.settings_told == 1


async def test_a_change_leaves_the_rest_alone(private_bus: PrivateBus) -> None:
    """Secrets included. A property keeps its type, a profile in memory stays there, and no change is no call."""
    service = StandIn()
    async with profiles(private_bus, service) as made:
        assert await made.set(UUID, {"ipv6": {"dhcp-iaid": "0x01020304", "route-metric": 48}, "new": {"x": True}})
        assert not await made.set(UUID, {"ipv6": {"route-metric": 100, "token": None}})
    ((_, (settings, flags, _)),) = service.heard
    assert flags == 0x20
    assert settings["802-1x"] == {"identity": Variant("s", "node"), "password": Variant("s", "secret")}
    assert settings["ipv6"] == {"route-metric": Variant("x", 48), "dhcp-iaid": Variant("s", "0x01020304")}
    assert settings["new"] == {"x": Variant("b", True)}
    assert settings["802-3-ethernet"] == SETTINGS["802-3-ethernet"]


async def test_values_get_the_types_of_network_manager(private_bus: PrivateBus) -> None:
    """Also those in lists, and of what says the same in numbers nothing is left."""
    route = {"dest": "10.1.0.0", "prefix": 16, "next-hop": "10.0.0.9", "onlink": True}
    wanted = {"route-data": [route], "dns-search": ["a.example"], "route-table": 5, "dad-timeout": 9}
    service = StandIn()
    async with profiles(private_bus, service) as made:
        assert await made.set(UUID, {"ipv4": {**wanted, "route-metric": 48}})
    ((_, (settings, _, _)),) = service.heard
    found = {key: value.signature for key, value in settings["ipv4"].items()}
    (sent,) = settings["ipv4"]["route-data"].value
    assert {key: value.signature for key, value in sent.items()} == dict(zip(route, ["s", "u", "s", "b"], strict=True))
    assert found.pop("address-data") == "aa{sv}"
    assert found == dict(zip([*wanted, "route-metric"], ["aa{sv}", "as", "u", "i", "x"], strict=True))


@pytest.mark.parametrize(("gone", "call", "flags"), [(False, "Update2", 0x28), (True, "AddConnection2", 0x22)])
async def test_what_was_kept_is_given_back(private_bus: PrivateBus, gone: bool, call: str, flags: int) -> None:  # noqa: FBT001
    """With every type and every secret, over a file; in memory, since it was there."""
    service = StandIn()
    async with profiles(private_bus, service) as made:
        kept = KeptProfile(**json.loads(json.dumps(asdict(await made.keep(UUID)))))
        assert (kept.name, kept.path, kept.in_memory, kept.file) == ("wired", "/run/x", True, None)
        service.gone = gone
        await made.give_back(kept)
    ((member, (settings, given, _)),) = service.heard
    assert (member, given) == (call, flags)
    assert settings == {**SETTINGS, "802-1x": {**SETTINGS["802-1x"], "password": Variant("s", "secret")}}


async def test_an_older_one_knows_no_flags_of_reapply(private_bus: PrivateBus) -> None:
    """NetworkManager < 1.42 is asked again without; and it is the link that is asked, not a bridge of its name."""
    service = StandIn(knows_flags=False)
    async with profiles(private_bus, service) as made:
        await made.reapply("eth0")
    assert [body[2] for _, body in service.heard] == [1, 0]
    assert service.of == ["/device/1"] * 2


async def test_what_is_not_there(private_bus: PrivateBus) -> None:
    """A deleted profile is deleted; anything else asked of it names it."""
    service = StandIn(gone=True)
    async with profiles(private_bus, service) as made:
        assert not await made.delete(UUID)
        with pytest.raises(Unavailable, match=f"has no profile {UUID}"):
            await made.keep(UUID)
        with pytest.raises(Unavailable, match="cannot load /etc/x"):
            await made.load("/etc/x")


@pytest.mark.parametrize(("storage", "flags"), [(TO_DISK, 0x21), (IN_MEMORY, 0x22), (IN_MEMORY_ONLY, 0x28)])
async def test_a_profile_is_stored_elsewhere_as_it_is(private_bus: PrivateBus, storage: int, flags: int) -> None:
    """Its settings, secrets included, are the same, and nothing is activated."""
    service = StandIn()
    async with profiles(private_bus, service) as made:
        await made.store(UUID, storage)
    ((member, (settings, sent, _)),) = service.heard
    assert (member, sent) == ("Update2", flags)
    assert settings["802-1x"]["password"] == Variant("s", "secret")
    assert settings["ipv4"] == SETTINGS["ipv4"]


@pytest.mark.parametrize(
    ("link", "named", "device"), [("eth0", "", "/device/1"), ("eth0", "eth0", "/device/1"), ("vlan7", "vlan7", "/")]
)
async def test_a_profile_is_activated_on_its_link_or_makes_it(
    private_bus: PrivateBus, link: str, named: str, device: str
) -> None:
    """The link of a VLAN is gone with its profile, and the profile alone came back; eth0 is no bridge."""
    service = StandIn(link=named)
    async with profiles(private_bus, service) as made:
        await made.activate(UUID, link)
    assert service.heard == [("ActivateConnection", ["/settings/1", device, "/"])]


@pytest.mark.parametrize("named", ["", "eth0"])
async def test_a_profile_is_activated_on_no_other_link(private_bus: PrivateBus, named: str) -> None:
    """One that names no link is good for any: without a device, NetworkManager would take the uplink for it."""
    service = StandIn(link=named)
    async with profiles(private_bus, service) as made:
        with pytest.raises(Unavailable, match=r"^NetworkManager has no device eth1"):
            await made.activate(UUID, "eth1")
    assert service.heard == []


@pytest.mark.parametrize("refusal", ["", "NotActive"])
async def test_a_link_is_disconnected_that_need_not_be_in_use(private_bus: PrivateBus, refusal: str) -> None:
    service = StandIn(idle=refusal)
    async with profiles(private_bus, service) as made:
        await made.disconnect("eth0")
    assert (service.heard, service.of) == ([("Disconnect", [])], ["/device/1"])


async def test_a_link_that_is_not_disconnected(private_bus: PrivateBus) -> None:
    async with profiles(private_bus, StandIn(idle="NotAllowed")) as made:
        with pytest.raises(Unavailable, match="does not disconnect eth0"):
            await made.disconnect("eth0")


@dataclass
class Leasing(StandIn):
    """eth0 has a lease; *method* is the one of its applied profile, "" where none is active."""

    method: str = "auto"

    def answer(self, message: Message) -> Message | None:
        if message.member != "GetAppliedConnection" or message.message_type is not MessageType.METHOD_CALL:
            return super().answer(message)
        if not self.method:
            return Message.new_error(message, f"{NAME}.Device.NotActive", "not active")
        settings = {"ipv4": {"method": Variant("s", self.method)}, "ipv6": {"method": Variant("s", "auto")}}
        return Message.new_method_return(message, "a{sa{sv}}t", [settings, 1])

    def _objects(self) -> dict[str, Any]:
        options = {"ip_address": Variant("s", "192.0.2.9"), "subnet_mask": Variant("s", "255.255.255.0")}
        leases = {"/dhcp/1": {f"{NAME}.DHCP4Config": {"Options": Variant("a{sv}", options)}}}
        found = super()._objects() | leases
        found["/device/1"][f"{NAME}.Device"]["Dhcp4Config"] = Variant("o", "/dhcp/1")
        return found


async def test_a_lease_differs_from_one_that_was_given_up_by_what_network_manager_says(private_bus: PrivateBus) -> None:
    """Its options are the same, also once it was given up: what was applied, and each lease, make the difference."""
    service, bus = Leasing(), quiet(private_bus.address)

    def changed(properties: dict[str, Variant]) -> Message:
        body = [f"{NAME}.DHCP4Config", properties, []]
        return Message.new_signal("/dhcp/1", PROPERTIES, "PropertiesChanged", "sa{sv}as", body)

    async with client(private_bus.address) as other, running(bus):
        other.add_message_handler(service.answer)
        await other.request_name(NAME)
        assert await bus.wait_up(5)
        made = Profiles(bus)
        before = (await made.leases({"eth0"}))["eth0"]
        assert (before.address, before.asks) == (ip_address("192.0.2.9"), True)
        assert (await made.leases({"eth0"}), await made.leases({"eth7"})) == ({"eth0": before}, {})
        service.method = "manual"
        assert not (await made.leases({"eth0"}))["eth0"].asks
        assert not is_held(before, (await made.leases({"eth0"}))["eth0"], 1.0, ())
        await other.send(changed({}))
        assert not is_held(before, (await made.leases({"eth0"}))["eth0"], 1.0, ()), "another property"
        await other.send(changed({"Options": Variant("a{sv}", {})}))
        assert is_held(before, (await made.leases({"eth0"}))["eth0"], 1.0, ())
        service.method = ""
        assert (await made.leases({"eth0"}))["eth0"].applied != before.applied
