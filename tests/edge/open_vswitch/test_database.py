"""Does Open vSwitch work, and what does its database contain?"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nodenet.core.errors import NotAllowed, Unavailable
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.edge.open_vswitch import Ovsdb, has_family, has_kernel_datapath
from unprivileged import unprivileged

EMPTY = ["map", []]
EMPTY_SET = ["set", []]
READ_ONLY = {
    "error": "not allowed",
    "details": "mutate operation not allowed: the server is in read only mode",
}
DISK_FULL = {"error": "I/O error", "details": "conf.db: write failed", "io-error": "No space left on device"}


@dataclass
class StandIn:
    """An ovsdb-server that answers with *tables*; *cur_cfg* follows *next_cfg* unless *dead*."""

    next_cfg: int = 7
    cur_cfg: int = 7
    dead: bool = False
    set_up: bool = True
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failing: dict[str, Any] | None = None
    """What a mutation is answered with."""
    commit_failing: dict[str, Any] | None = None
    piece: int = 1 << 20
    """How many bytes are sent at a time."""
    before_answer: list[dict[str, Any]] = field(default_factory=list)
    heard: list[dict[str, Any]] = field(default_factory=list)
    silent: bool = False
    garbage: bytes = b""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError):
            while text := await reader.read(1 << 16):
                # Our own client waits for an answer before it says more, except for an echo's.
                for line in text.decode().replace("}{", "}\n{").splitlines():
                    message = json.loads(line)
                    self.heard.append(message)
                    if "method" in message and not self.silent:
                        await self._answer(message, writer)

    async def _answer(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        result = self._monitor() if message["method"] == "monitor" else self._transact(message["params"][1:])
        said = [*self.before_answer, {"id": message["id"], "result": result, "error": None}]
        data = self.garbage or "".join(json.dumps(each, ensure_ascii=False) for each in said).encode()
        for start in range(0, len(data), self.piece):
            writer.write(data[start : start + self.piece])
            await writer.drain()
            if self.piece < 1 << 16:
                await asyncio.sleep(0)

    def _transact(self, operations: list[dict[str, Any]]) -> list[Any]:
        if self.failing and operations[0]["op"] == "mutate":
            return [self.failing, *([None] * (len(operations) - 1))]
        done = [self._operation(operation) for operation in operations]
        return [*done, self.commit_failing] if self.commit_failing else done

    def _operation(self, operation: dict[str, Any]) -> dict[str, Any]:
        if operation["op"] == "mutate":
            self.next_cfg += 1
            if not self.dead:
                self.cur_cfg = self.next_cfg + 1  # somebody else has raised it as well
            return {"count": 1}
        if operation["table"] == "Open_vSwitch":
            rows = [{"next_cfg": self.next_cfg, "cur_cfg": self.cur_cfg, "external_ids": EMPTY}]
            return {"rows": rows if self.set_up else []}
        return {"rows": self.tables.get(operation["table"], [])}

    def _monitor(self) -> dict[str, Any]:
        return {"Open_vSwitch": {"u": {"new": {"next_cfg": self.next_cfg, "cur_cfg": self.cur_cfg}}}}

    def tell(self, **columns: int) -> None:
        """Send an update: only columns that changed have an old value, all are in the new one."""
        rows = {"u": {"old": {"cur_cfg": 0}, "new": {"next_cfg": self.next_cfg, "cur_cfg": self.cur_cfg, **columns}}}
        update = {"id": None, "method": "update", "params": [None, {"Open_vSwitch": rows}]}
        self.writers[-1].write(json.dumps(update).encode())


@contextlib.asynccontextmanager
async def database(directory: Path, stand_in: StandIn) -> AsyncIterator[Ovsdb]:
    path = directory / "db.sock"
    server = await asyncio.start_unix_server(stand_in.serve, path)
    try:
        yield Ovsdb(path)
    finally:
        server.close()
        for writer in stand_in.writers:
            writer.transport.abort()
        path.unlink(missing_ok=True)
        await asyncio.sleep(0)


def bridge_of(ports: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of br-ex with so many ports; the last one is a port whose link is missing."""
    numbers = range(ports)
    members = [["uuid", f"p{number}"] for number in numbers]
    column = members[0] if ports == 1 else ["set", members]
    return {
        "Bridge": [{"name": "br-ex", "datapath_type": "netdev", "ports": column, "external_ids": EMPTY}],
        "Port": [
            {"_uuid": ["uuid", f"p{n}"], "name": f"port{n}", "interfaces": ["uuid", f"i{n}"], "external_ids": EMPTY}
            for n in numbers
        ],
        "Interface": [
            {
                "_uuid": ["uuid", f"i{n}"],
                "name": f"port{n}",
                "type": "internal",
                "error": "could not open network device (…)" if n == ports - 1 else EMPTY_SET,
                "external_ids": ["map", [["iface-id", "é"]]],
            }
            for n in numbers
        ],
    }


async def test_bridges_with_ports_and_their_errors(tmp_path: Path) -> None:
    """A set with one member has no set around it in JSON, and an absent value is an empty set."""
    async with database(tmp_path, StandIn(tables=bridge_of(1))) as ovsdb:
        (bridge,) = await ovsdb.bridges()
    interface = OvsInterface("port0", "internal", "could not open network device (…)", {"iface-id": "é"})
    assert bridge == OvsBridge("br-ex", "netdev", (OvsPort("port0", (interface,), {}),), {})


@pytest.mark.parametrize("piece", [7, 1000, 65_536])
async def test_an_answer_may_come_in_any_number_of_pieces(tmp_path: Path, piece: int) -> None:
    """Also in pieces that end inside a character, and when it is larger than any buffer."""
    ports = 40 if piece == 7 else 3000
    async with database(tmp_path, StandIn(tables=bridge_of(ports), piece=piece)) as ovsdb:
        (bridge,) = await ovsdb.bridges()
    assert len(bridge.ports) == ports
    assert [port.name for port in bridge.ports if port.interfaces[0].error] == [f"port{ports - 1}"]


async def test_what_the_server_says_by_itself_is_no_answer(tmp_path: Path) -> None:
    """Its echo is answered, or it would hang up; updates and answers to nobody are passed over."""
    chatter: list[dict[str, Any]] = [
        {"id": "echo", "method": "echo", "params": ["are you there?"]},
        {"id": None, "method": "update", "params": [None, {}]},
        {"id": 99, "result": {}, "error": None},
    ]
    stand_in = StandIn(before_answer=chatter)
    async with database(tmp_path, stand_in) as ovsdb:
        await ovsdb.prove_alive()
    assert {"id": "echo", "result": ["are you there?"], "error": None} in stand_in.heard


async def test_a_living_one_may_be_ahead_of_what_was_asked(tmp_path: Path) -> None:
    """Others raise the number too."""
    async with database(tmp_path, StandIn()) as ovsdb:
        await ovsdb.prove_alive()


async def test_it_follows_later(tmp_path: Path) -> None:
    """The number that counts comes as an update; one on the way there is not enough."""
    stand_in = StandIn(dead=True)
    async with database(tmp_path, stand_in) as ovsdb:
        proof = asyncio.create_task(ovsdb.prove_alive(10))
        while not any(message.get("method") == "monitor" for message in stand_in.heard):
            await asyncio.sleep(0.01)
        stand_in.tell(cur_cfg=stand_in.next_cfg - 1)
        await asyncio.sleep(0.05)
        assert not proof.done()
        stand_in.tell(cur_cfg=stand_in.next_cfg)
        await proof


@pytest.mark.parametrize(
    ("stand_in", "cause"),
    [
        (StandIn(dead=True), "ovs-vswitchd has not carried out"),
        (StandIn(silent=True), r"database did not answer within 0\.3 s"),
        (StandIn(failing=READ_ONLY), "database is read-only"),
        (StandIn(commit_failing=DISK_FULL), "refused a change .I/O error: conf.db: write failed: No space left"),
        (StandIn(set_up=False), "is empty: it was not set up yet"),
        (StandIn(garbage=b"HTTP/1.1 400 }"), "gives an invalid answer"),
        (StandIn(garbage=b'{"id": 1, "result": [{"rows": 5}]}'), "gives an invalid answer"),
        (StandIn(garbage=b'{"id": 1, "result": null, "error": "unknown database"}'), "refused `transact`"),
    ],
    ids=["vswitchd dead", "silent", "read-only", "disk full", "not set up", "garbage", "odd", "error"],
)
async def test_every_fault_has_its_own_cause(tmp_path: Path, stand_in: StandIn, cause: str) -> None:
    """So that the administrator looks at the right service."""
    async with database(tmp_path, stand_in) as ovsdb:
        with pytest.raises(Unavailable, match=cause):
            await ovsdb.prove_alive(0.3)


async def test_nobody_listens(tmp_path: Path) -> None:
    """No socket at all, and one whose owner has died."""
    ovsdb = Ovsdb(tmp_path / "db.sock")
    assert not ovsdb.answers()
    with pytest.raises(Unavailable, match=r"cannot be reached at .*db\.sock: No such file"):
        await ovsdb.bridges()
    async with database(tmp_path, StandIn()) as alive:
        assert alive.answers()


async def test_a_database_that_is_closed_to_us_is_not_absent(tmp_path: Path) -> None:
    """What it holds is unknown: nobody may take that for "no bridges"."""
    async with database(tmp_path, StandIn()) as ovsdb:
        with unprivileged():
            with pytest.raises(NotAllowed, match="may not be asked by this user"):
                ovsdb.answers()
            with pytest.raises(NotAllowed, match="may not be asked by this user"):
                await ovsdb.bridges()


def test_a_database_that_has_a_long_queue_is_there(tmp_path: Path) -> None:
    """Others who ask at the same time do not take it away."""
    path = tmp_path / "db.sock"
    with socket.socket(socket.AF_UNIX) as server, ExitStack() as others:
        server.bind(str(path))
        server.listen(0)
        for _ in range(4):
            other = others.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
            other.connect_ex(str(path))
        assert Ovsdb(path).answers()


async def test_a_mark_leaves_other_keys_alone(tmp_path: Path) -> None:
    """What OVN and NetworkManager keep there stays: one key is replaced, in one transaction."""
    stand_in = StandIn()
    async with database(tmp_path, stand_in) as ovsdb:
        await ovsdb.mark_bridge("br-ex", "nodenet-adopted", "eth0")
    (changed,) = (m["params"][1] for m in stand_in.heard)
    assert (changed["table"], changed["where"]) == ("Bridge", [["name", "==", "br-ex"]])
    assert changed["mutations"] == [
        ["external_ids", "delete", ["set", ["nodenet-adopted"]]],
        ["external_ids", "insert", ["map", [["nodenet-adopted", "eth0"]]]],
    ]


async def test_a_port_is_put_on_its_bridge_with_what_it_had(tmp_path: Path) -> None:
    """Interface, port and bridge in one transaction: a port that no bridge refers to is gone at its end."""
    stand_in = StandIn()
    item = OvsInterface("patch", "patch", external_ids={"a": "b"}, options={"peer": "other"})
    async with database(tmp_path, stand_in) as ovsdb:
        await ovsdb.add_port("br-ex", OvsPort("patch", (item,), {"ovn-localnet-port": "physnet"}))
    inside, outside, changed, _ = (operation for m in stand_in.heard for operation in m["params"][1:])
    expected = {"name": "patch", "type": "patch"}
    assert inside["row"] == {
        **expected,
        "options": ["map", [["peer", "other"]]],
        "external_ids": ["map", [["a", "b"]]],
    }
    assert outside["row"]["interfaces"] == ["named-uuid", inside["uuid-name"]]
    assert outside["row"]["external_ids"] == ["map", [["ovn-localnet-port", "physnet"]]]
    assert (changed["table"], changed["where"]) == ("Bridge", [["name", "==", "br-ex"]])
    assert changed["mutations"] == [["ports", "insert", ["named-uuid", outside["uuid-name"]]]]


async def test_a_port_number_is_asked_for(tmp_path: Path) -> None:
    stand_in = StandIn()
    async with database(tmp_path, stand_in) as ovsdb:
        await ovsdb.request_ofport("eth0", 1)
    update, _ = (operation for m in stand_in.heard for operation in m["params"][1:])
    assert (update["table"], update["where"]) == ("Interface", [["name", "==", "eth0"]])
    assert update["row"] == {"ofport_request": 1}


async def test_what_is_removed_is_named_by_its_row(tmp_path: Path) -> None:
    """And what is not there is not removed."""
    stand_in = StandIn(tables={"Bridge": [{"_uuid": ["uuid", "b1"]}]})
    async with database(tmp_path, stand_in) as ovsdb:
        assert await ovsdb.remove_bridge("br-ex")
        assert not await ovsdb.remove_port("br-ex", "eth0")
    (changed,) = (m["params"][1] for m in stand_in.heard if m["params"][1]["op"] == "mutate")
    assert changed["mutations"] == [["bridges", "delete", ["set", [["uuid", "b1"]]]]]


async def told(calls: list[int], number: int) -> None:
    async with asyncio.timeout(10):
        while len(calls) < number:
            await asyncio.sleep(0.01)


@pytest.fixture
def calls() -> list[int]:
    return []


@pytest.fixture
def changed(calls: list[int]) -> Callable[[], None]:
    return lambda: calls.append(1)


async def test_its_coming_and_going_is_told(tmp_path: Path, calls: list[int], changed: Callable[[], None]) -> None:
    """Once at the beginning, once for each change; what a living ovs-vswitchd carries out is none."""
    watch = asyncio.create_task(Ovsdb(tmp_path / "db.sock").watch(changed))
    await told(calls, 1)
    stand_in = StandIn()
    async with database(tmp_path, stand_in):
        await told(calls, 2)
        stand_in.tell(next_cfg=9)
        stand_in.tell(next_cfg=9, cur_cfg=9)
        await asyncio.sleep(0.1)
        assert len(calls) == 2
    await told(calls, 3)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch


async def test_the_beginning_of_a_watch_is_no_event(
    tmp_path: Path, calls: list[int], changed: Callable[[], None]
) -> None:
    """A stage whose apply has just failed would try it again at once."""
    stand_in = StandIn()
    async with database(tmp_path, stand_in):
        watch = asyncio.create_task(Ovsdb(tmp_path / "db.sock").watch(changed))
        async with asyncio.timeout(10):
            while not any(message.get("method") == "monitor" for message in stand_in.heard):
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert calls == []
    await told(calls, 1)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch


@pytest.mark.parametrize(("name", "there"), [("nlctrl", True), ("nodenet_no_such", False)])
def test_a_family_is_there_or_not(name: str, *, there: bool) -> None:
    """The controller itself is always there."""
    assert has_family(name) is there


def test_the_datapath_is_known_where_its_module_is_loaded() -> None:
    """After the question: it loads the module where it is installed."""
    found = has_kernel_datapath()
    assert found or not Path("/sys/module/openvswitch").exists()
