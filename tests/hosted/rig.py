"""A companion's state, and edges of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from hosted_services_cases import CASES, read_inputs
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.model import Inputs, Origin
from nodenet.core.hosted_services.units import Others, Running
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address
from nodenet.hosted.state import State

OWN_MAC, PEER_MAC, STRANGER_MAC = "02:00:00:00:00:10", "02:00:00:00:00:11", "02:00:00:00:00:99"


def inputs(case: str = "control-plane", **changes: Any) -> Inputs:
    return replace(read_inputs(CASES / case), **changes)


def state(case: str = "control-plane", **changes: Any) -> State:
    """Return the state of master-0 with a live cluster."""
    given = inputs(case, **{"spec_origin": Origin.LIVE, "nodes_origin": Origin.LIVE, **changes})
    made = State(given.here.name, given.options)
    made.authority = "PEM"
    made.take(Known(given))
    return made


class FakeWire:
    """Hosts that answer: address → MACs. *known*: the neighbours that the kernel knows, at first all nodes."""

    def __init__(self, made: State) -> None:
        self.macs: dict[IPAddress, frozenset[str]] = {}
        self.down = False
        self.asked = 0
        self.asked_for: set[IPAddress] = set()
        self.known = {
            address: f"02:00:00:00:00:{0x10 + number % 64:02x}"
            for number, node in enumerate(made.known.inputs.nodes)
            for address in node.addresses
        }

    async def claims(self, addresses: Iterable[IPAddress], link: str) -> Mapping[IPAddress, frozenset[str]]:
        addresses = tuple(addresses)
        self.asked += 1
        self.asked_for |= set(addresses)
        if self.down:
            raise Unavailable(f"The hosts on {link} cannot be asked")
        return {address: self.macs.get(address, frozenset()) - {OWN_MAC} for address in addresses}

    def neighbours(self, link: str) -> list[tuple[IPAddress, str]]:  # noqa: ARG002  (there is one)
        return list(self.known.items())


class FakeAddresses:
    def __init__(self) -> None:
        self.here: set[IPAddress] = set()

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        return tuple(Address(one, 24, "br-ex") for one in sorted(self.here & set(wanted), key=str))


class FakeWeights:
    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.full = False

    def read(self, path: str) -> int | None:
        return self.numbers.get(path)

    def write(self, path: str, number: int) -> bool:
        if self.full:
            raise PublishFailed(f"{path} cannot be written")
        differs = self.numbers.get(path) != number
        self.numbers[path] = number
        return differs


class FakeFiles:
    def __init__(self) -> None:
        self.texts: dict[PurePath, str] = {}
        self.full: set[PurePath] = set()

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        if not self.full.isdisjoint(texts):
            raise PublishFailed("/run is full")
        changed = frozenset(path for path, text in texts.items() if self.texts.get(path) != text)
        self.texts |= texts
        return changed

    def remove(self, paths: Iterable[PurePath]) -> frozenset[PurePath]:
        return frozenset(path for path in paths if self.texts.pop(path, None) is not None)


class FakeUnits:
    """Units that do at once what they are asked for."""

    def __init__(self, *running: str) -> None:
        self.running = set(running)
        self.missing: dict[str, str] = {}
        self.broken: Unavailable | None = None
        self.orders: list[tuple[str, str]] = []
        self.stopping: Callable[[str], None] = lambda _: None

    async def state(self, unit: str) -> Running:
        up = "active" if unit in self.running else "inactive"
        return Running("loaded", up, missing=self.missing.get(unit, ""))

    async def start(self, unit: str) -> None:
        self.orders.append(("start", unit))
        self.running.add(unit)

    async def stop(self, unit: str) -> None:
        self.orders.append(("stop", unit))
        self.stopping(unit)
        self.running.discard(unit)

    async def reload(self, unit: str) -> None:
        if self.broken:
            raise self.broken
        self.orders.append(("reload", unit))

    async def restart(self, unit: str) -> None:
        self.orders.append(("restart", unit))


class FakeTable:
    def __init__(self, *, there: bool = False) -> None:
        self.there = there
        self.text = "redirect to :9445"
        self.removed = 0
        self.broken: Unavailable | None = None

    async def put(self, rules: str) -> None:
        assert rules.startswith("table inet nodenet_")
        if self.broken:
            raise self.broken
        self.there, self.text = True, rules

    async def remove(self) -> None:
        self.there = False
        self.removed += 1

    async def is_there(self) -> bool:
        return self.there

    async def printed(self) -> str:
        return self.text


class FakeBalancer:
    """haproxy's servers, by name and address, and whether each is alive; None: it does not answer."""

    def __init__(self) -> None:
        self.alive: dict[tuple[str, str], bool] | None = {}

    async def servers(self) -> str:
        if self.alive is None:
            raise Unavailable("haproxy does not answer at /run/nodenet-haproxy/state.sock: time-out")
        lines = ["1", "# be_id be_name srv_id srv_name srv_addr srv_op_state"]
        rest = "0 1 1 9 6 3 4 6 0 0 0 - 6443 - 0 0 - - 0"
        found = self.alive.items()
        lines += [
            f"3 api {i} {name} {address} {2 if up else 0} {rest}" for i, ((name, address), up) in enumerate(found)
        ]
        return "\n".join([*lines, "", ""])


class FakeDnsmasq:
    def __init__(self) -> None:
        self.reads = 0

    async def owner(self) -> str | None:
        return ":1.1"

    async def set_servers(self, servers: Any) -> None:
        raise AssertionError(servers)

    async def further(self) -> str:
        return ""

    async def read_hosts(self) -> None:
        self.reads += 1


class FakeOthers:
    def __init__(self) -> None:
        self.found = Others()
        self.stamp: int | None = None

    def manifests_stamp(self) -> int | None:
        return self.stamp

    def look(self, units: Collection[str], ports: Collection[int]) -> Others:  # noqa: ARG002
        return self.found
