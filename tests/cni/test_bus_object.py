"""org.nodenet1.Ipam on a bus of the test's own, and `nodenetctl claims` that asks it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from cli.test_ask import printed
from core.persistent_ips.test_bus import CLAIMED, DOCUMENT, EPHEMERAL
from core.persistent_ips.test_screen import difference
from edge import bus_calls
from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.cni.process import BusObject
from nodenet.core.errors import Unavailable
from nodenet.core.persistent_ips import bus
from nodenet.core.persistent_ips.metrics import Figures
from nodenet.edge.bus.connection import PROPERTIES, Bus, Message, MessageType

__all__ = ["private_bus"]
TABLE = """NETWORK  ADDRESS          STATE     CLAIM         POD                    NODE      SINCE
blue     192.0.2.7/24     attached  team/vm.blue  team/virt-launcher-vm  worker-0  2026-11-22T08:00:00Z
red      198.51.100.9/24  attached  -             team/virt-launcher-vm  worker-0  2026-11-22T08:00:00Z
"""


class Service:
    """Knows one document."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {**DOCUMENT, "problems": []}
        self.checks: list[bool] = []
        self.found: list[dict[str, object]] = []
        self.away = False

    def document(self) -> Mapping[str, Any]:
        return self.known

    def figures(self) -> Figures:
        made = Figures()
        made.counts["add"] = 2
        return made

    def explain(self, claim: str) -> str:
        return f"Claim {claim}\x1b has its reasons.\nTwo of them."

    async def check(self, *, repair: bool) -> Mapping[str, Any]:
        self.checks.append(repair)
        if self.away:
            raise Unavailable("The API does not answer", remedy="Wait")
        return {"addresses": 2, "differences": self.found}


@contextlib.asynccontextmanager
async def serving(private_bus: PrivateBus, service: Service) -> AsyncIterator[BusObject]:
    connection = Bus(address=private_bus.address, changed=lambda _: None)
    made = BusObject(connection, service)
    task = asyncio.create_task(connection.run())
    try:
        assert await connection.wait_up(5)
        yield made
    finally:
        task.cancel()
        await asyncio.wait({task})


call = partial(bus_calls.call, bus.NAME, bus.PATH)


async def claims(private_bus: PrivateBus, *words: str) -> tuple[int | None, str, str]:
    return await printed(private_bus.address, "claims", *words)


async def test_questions_are_answered(private_bus: PrivateBus) -> None:
    async with serving(private_bus, Service()), client(private_bus.address) as other:
        everything = (await call(other, "GetAll", bus.NAME, interface=PROPERTIES)).body[0]
        assert {name: value.value for name, value in everything.items()} == {
            "Node": "worker-0",
            "Addresses": 2,
            "Claims": 1,
            "Problems": [],
        }
        assert json.loads((await call(other, "GetClaims", "red")).body[0])["addresses"] == [EPHEMERAL]
        assert len(json.loads((await call(other, "GetClaims", "")).body[0])["addresses"]) == 2
        assert "nodenet_ipam_add_total 2" in (await call(other, "GetMetrics")).body[0]


@pytest.mark.parametrize(("member", "body"), [("Check", ("mend",)), ("GetClaims", ()), ("Explain", ("a", "b"))])
async def test_other_arguments_are_refused(private_bus: PrivateBus, member: str, body: tuple[str, ...]) -> None:
    service = Service()
    async with serving(private_bus, service), client(private_bus.address) as other:
        assert (await call(other, member, *body)).message_type is MessageType.ERROR
    assert service.checks == []


async def test_changes_are_signals(private_bus: PrivateBus) -> None:
    heard: asyncio.Queue[tuple[str, list[Any]]] = asyncio.Queue()

    def hear(message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.path == bus.PATH:
            heard.put_nowait((message.member, message.body))

    service = Service()
    async with serving(private_bus, service) as served, client(private_bus.address) as other:
        other.add_message_handler(hear)
        destination = "org.freedesktop.DBus"
        rule = f"type='signal',sender='{bus.NAME}'"
        await other.call(
            Message(
                destination=destination, path="/org/freedesktop/DBus", interface=destination, member="AddMatch",
                signature="s", body=[rule],
            )
        )  # fmt: skip
        served.show({**service.known, "addresses": [CLAIMED]})
        served.show({**service.known, "addresses": [EPHEMERAL]})
        served.refused("team/vm", "no free address")
        async with asyncio.timeout(10):
            got = dict([await heard.get() for _ in range(4)])
    assert got["AddressAllocated"] == ["red", "198.51.100.9/24", "", "team/virt-launcher-vm"]
    assert got["AddressReleased"] == ["blue", "192.0.2.7/24", "team/vm.blue"]
    assert got["AddressRefused"] == ["team/vm", "no free address"]
    assert got["PropertiesChanged"][1]["Claims"].value == 0


async def test_the_verb_prints_a_table(private_bus: PrivateBus) -> None:
    service = Service()
    async with serving(private_bus, service):
        assert await claims(private_bus) == (0, TABLE, "")
        code, out, _ = await claims(private_bus, "--json", "--network", "red")
        assert (code, json.loads(out)) == (0, {**service.known, "addresses": [EPHEMERAL]})
        service.known = {**service.known, "problems": ["The API\x1b is away"], "addresses": []}
        nothing = "No addresses: no claim and no pod of this node has one\n"
        assert await claims(private_bus) == (2, nothing, "nodenetctl: The API? is away\n")


async def test_the_verb_explains_a_claim(private_bus: PrivateBus) -> None:
    async with serving(private_bus, Service()):
        found = await claims(private_bus, "explain", "team/vm.blue")
    assert found == (0, "Claim team/vm.blue? has its reasons.\nTwo of them.\n", "")


async def test_the_verb_checks(private_bus: PrivateBus) -> None:
    service = Service()
    async with serving(private_bus, service):
        agree = "2 addresses compared: store, Leases and claims agree\n"
        assert await claims(private_bus, "check") == (0, agree, "")
        service.found = [difference(repaired=False)]
        code, out, _ = await claims(private_bus, "check")
        assert (code, out.splitlines()[-1]) == (2, "2 addresses compared, 1 differences")
        service.found = [difference(repaired=True)]
        code, out, _ = await claims(private_bus, "check", "--repair", "--json")
        assert (code, json.loads(out)["differences"]) == (0, service.found)
        service.away = True
        assert await claims(private_bus, "check") == (69, "", "nodenetctl: The API does not answer. Wait\n")
    assert service.checks == [False, False, True, False]


async def test_without_the_service_the_verb_says_how_to_start_it(private_bus: PrivateBus) -> None:
    code, out, said = await claims(private_bus)
    assert (code, out) == (69, "")
    assert said == (
        "nodenetctl: nodenet-ipam does not run on this node. "
        "Look at `systemctl status nodenet-ipam`; it is off until `systemctl enable --now nodenet-ipam`\n"
    )
