"""What does nodenetd offer to programs over D-Bus, and how does it report changes to them?"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import sys
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dbus_next.constants import MessageFlag

from edge.bus.test_connection import ask_bus, client, running
from edge.private_bus import PrivateBus
from nodenet.core.boot.outcome import Done, Facts, Failed, Problem, Skipped, Waiting
from nodenet.core.boot.stage_state import Inhibitor
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Busy, NodeFileInvalid
from nodenet.core.messages import Message as MessageId
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER, NAME, OBJECTS, PATH, STAGE, introspection, signals, stage_path
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import TrialOrder
from nodenet.edge.bus.connection import PROPERTIES, Bus, Message, MessageType
from nodenet.edge.bus.frames import Frame
from nodenet.edge.bus.objects import MOST_UNCHECKED
from nodenet.edge.bus.service import InhibitorLocks, Orders, Service

INTERFACE = MANAGER.name
CONTRACT = Path(__file__).parents[3] / "units" / "dbus"


def shape(text: str) -> set[tuple[Any, ...]]:
    """Return an interface as a set of facts: names, directions and types."""
    (interface,) = ET.fromstring(text).iter("interface")  # noqa: S314  (our own file)
    facts: set[tuple[Any, ...]] = {("interface", interface.get("name"))}
    for part in interface:
        arguments = tuple((a.get("direction", "out"), a.get("type")) for a in part.iter("arg"))
        facts.add((part.tag, part.get("name"), part.get("type"), part.get("access"), arguments))
    return facts


@pytest.mark.parametrize(
    ("path", "contract"), [(PATH, "org.nodenet1.xml"), (stage_path(StageName.NODEIP), "org.nodenet1.Stage.xml")]
)
def test_the_code_serves_what_the_contract_says(path: str, contract: str) -> None:
    """Nothing more, nothing less."""
    assert shape(introspection(path) or "") == shape((CONTRACT / contract).read_text())


def test_the_objects_are_a_tree_that_can_be_walked() -> None:
    """As `busctl tree` walks it: from the root, by introspection."""
    found: list[str] = []

    def walk(path: str) -> None:
        node = ET.fromstring(introspection(path) or "")  # noqa: S314  (our own)
        found.extend([path] if node.find("interface") is not None else [])
        for child in node.findall("node"):
            walk(f"{path.rstrip('/')}/{child.get('name')}")

    walk("/")
    assert found == list(OBJECTS)
    assert introspection("/org/nodenet1/stage/nobody") is None


@contextlib.asynccontextmanager
async def serving(private_bus: PrivateBus, orders: Orders, status: list[BootStatus]) -> AsyncIterator[Service]:
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    service = Service(bus, orders, lambda: status[-1])
    service.show(status[-1])
    task = asyncio.create_task(bus.run())
    try:
        assert await bus.wait_up(5)
        yield service
    finally:
        task.cancel()
        await asyncio.wait({task})


async def refuse(_: str = "") -> None:
    raise NodeFileInvalid("worker-0.yml, line 3: duplicate key", remedy="Keep one")


async def refuse_file(_: str) -> None:
    await refuse()


async def refuse_trial(order: TrialOrder) -> None:
    raise Busy(f"{order.name} for {order.seconds:g} s by {order.who} ({order.digest[:4]})")


def refuse_to_hold(stage: StageName, who: str, why: str) -> int:
    raise Busy(f"{stage} is held by {who}: {why}")


def about(topic: str) -> str:
    return f"about {topic}"


def to_entry(number: int, seconds: str, who: str, force: bool) -> TrialOrder:  # noqa: FBT001
    return replace(ORDER, name="old.yml", seconds=float(seconds), who=who, entry=number, force=force)


ORDER = TrialOrder("old.yml", "e" * 64, 0.0, "root")


ORDERS = Orders(
    reload=refuse,
    prune=refuse,
    reselect=refuse,
    remove_bridge=refuse,
    run_stage=lambda *_: None,
    inhibit=refuse_to_hold,
    explain=lambda topic: f"about {topic}",
    try_file=refuse_trial,
    confirm=refuse_file,
    roll_back=refuse_file,
    history=lambda: "the history",
    to_entry=to_entry,
)
START = BootStatus(new_boot({}, degrade=True), boot_id="b")


async def call(  # noqa: PLR0913 -- a D-Bus call has that many parts
    bus: Any,
    member: str,
    signature: str = "",
    body: list[Any] | None = None,
    interface: str = INTERFACE,
    path: str = PATH,
) -> Any:
    return await bus.call(
        Message(destination=NAME, path=path, interface=interface, member=member, signature=signature, body=body or [])
    )


async def test_state_is_read_as_properties_and_as_one_document(private_bus: PrivateBus) -> None:
    """Whoever starts late reads it."""
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        everything = (await call(bus, "GetAll", "s", [INTERFACE], PROPERTIES)).body[0]
        assert everything["Health"].value == "waiting"
        assert len(everything["Stages"].value) == len(StageName)
        document = json.loads((await call(bus, "GetStatus")).body[0])
        assert document["schema_version"] == 1
        assert (await call(bus, "Explain", "s", ["node-ip"])).body == ["about node-ip"]


async def test_a_refused_reload_is_an_error_with_cause_and_remedy(private_bus: PrivateBus) -> None:
    """The caller of `systemctl reload` reads it."""
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        reply = await call(bus, "Reload")
        assert reply.error_name == "org.nodenet1.Error.NodeFileInvalid"
        assert reply.body == ["worker-0.yml, line 3: duplicate key. Keep one"]


async def test_a_mistake_of_ours_is_answered_without_a_traceback(private_bus: PrivateBus) -> None:
    """The caller is not left waiting, and sees no file paths."""

    def broken(topic: str) -> str:
        raise ZeroDivisionError(topic)

    orders = Orders(
        reload=refuse,
        prune=refuse,
        reselect=refuse,
        remove_bridge=refuse,
        run_stage=lambda *_: None,
        inhibit=refuse_to_hold,
        explain=broken,
        try_file=refuse_trial,
        confirm=refuse_file,
        roll_back=refuse_file,
        history=lambda: "the history",
        to_entry=to_entry,
    )
    async with serving(private_bus, orders, [START]), client(private_bus.address) as bus:
        reply = await call(bus, "Explain", "s", ["node-ip"])
        assert reply.body == ["an internal error, see the journal"]


@pytest.mark.parametrize(
    ("member", "signature", "body", "interface"),
    [
        ("RunStage", "s", ["no-such-stage"], INTERFACE),
        ("RunStage", "u", [7], INTERFACE),
        ("Try", "ssus", ["../new.yml", "a" * 64, 90, "root"], INTERFACE),
        ("Try", "ssus", ["new.yml", "../x", 90, "root"], INTERFACE),
        ("Try", "ssus", ["new.yml", "a" * 64, 0, "root"], INTERFACE),
        ("Try", "ssus", ["new.yml", "a" * 64, 2**32 - 1, "root"], INTERFACE),
        ("Try", "ssss", ["new.yml", "a" * 64, "90", "root"], INTERFACE),
        ("RunStage", "s", ["x" * 1_000_000], INTERFACE),
        ("NoSuchMethod", "", [], INTERFACE),
        ("Get", "ss", [INTERFACE, "NoSuchProperty"], PROPERTIES),
        ("Set", "ssv", None, PROPERTIES),
    ],
)
async def test_nonsense_is_refused_and_the_service_lives(
    private_bus: PrivateBus, member: str, signature: str, body: list[Any] | None, interface: str
) -> None:
    """One error reply each."""
    from dbus_next.signature import Variant  # noqa: PLC0415

    arguments = [INTERFACE, "Health", Variant("s", "ok")] if body is None else body
    async with serving(private_bus, ORDERS, [START]), client(private_bus.address) as bus:
        reply = await call(bus, member, signature, arguments, interface)
        assert reply.message_type is MessageType.ERROR
        assert (await call(bus, "GetStatus")).message_type is MessageType.METHOD_RETURN


async def test_a_trial_is_begun_and_ended_over_the_bus(private_bus: PrivateBus) -> None:
    """Its arguments arrive, and refusals come back with their name."""
    done: list[str] = []

    async def decide(digest: str) -> None:
        done.append(digest)

    orders = replace(ORDERS, confirm=decide, roll_back=decide)
    async with serving(private_bus, orders, [START]), client(private_bus.address) as bus:
        reply = await call(bus, "Try", "ssus", ["new.yml", "a" * 64, 90, "root"])
        assert (reply.error_name, reply.body) == (Busy.bus_name, ["new.yml for 90 s by root (aaaa)"])
        reply = await call(bus, "RollBackTo", "uusb", [7, 60, "root", True])
        assert (reply.error_name, reply.body) == (Busy.bus_name, ["old.yml for 60 s by root (eeee)"])
        assert (await call(bus, "History")).body == ["the history"]
        assert (await call(bus, "ConfirmTrial", "s", ["b" * 64])).message_type is MessageType.METHOD_RETURN
        assert (await call(bus, "RollBackTrial", "s", ["c" * 64])).message_type is MessageType.METHOD_RETURN
        assert (await call(bus, "RollBackTrial")).message_type is MessageType.ERROR
    assert done == ["b" * 64, "c" * 64]


async def test_changes_are_told_by_signals_and_by_properties(private_bus: PrivateBus) -> None:
    """A hint each, and the state to read."""
    async with serving(private_bus, ORDERS, [START]) as service, client(private_bus.address) as bus:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        bus.add_message_handler(lambda m: heard.put_nowait(m) if (m.path or "").startswith(PATH) else None)
        await ask_bus(bus, "AddMatch", f"type='signal',path_namespace='{PATH}'")
        boot = START.boot.begun(StageName.HOSTNAME, 1.0).after(
            StageName.HOSTNAME, Skipped("nobody needs it", Facts()), 1.0
        )
        service.show(replace(START, boot=boot))
        told = {(m.member, m.path): m.body for m in [await heard.get() for _ in range(3)]}
        *what, microseconds, sequence = told["StageChanged", PATH]
        assert what == ["hostname", "skipped", "nobody needs it"]
        assert (microseconds > 0, sequence) == (True, 1)
        assert told["PropertiesChanged", PATH][0] == INTERFACE
        assert {"Stages", "Sequence"} <= set(told["PropertiesChanged", PATH][1])
        name, changed, _ = told["PropertiesChanged", stage_path(StageName.HOSTNAME)]
        assert name == STAGE.name
        assert {key: value.value for key, value in changed.items()} == {
            "Status": "skipped", "Detail": "nobody needs it", "Started": 1_000_000, "Ended": 1_000_000
        }  # fmt: skip


async def test_changes_of_stages_are_numbered_without_a_gap(private_bus: PrivateBus) -> None:
    """A client that misses one sees it, and what is read says which changes it contains."""
    async with serving(private_bus, ORDERS, [START]) as service, client(private_bus.address) as bus:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        bus.add_message_handler(lambda m: heard.put_nowait(m.body) if m.member == "StageChanged" else None)
        await ask_bus(bus, "AddMatch", f"type='signal',path='{PATH}',member='StageChanged'")
        boot = START.boot
        for name in StageName:
            boot = boot.begun(name, 1.0)
            service.show(replace(START, boot=boot))
            boot = boot.after(name, Skipped("", Facts()), 1.0)
            service.show(replace(START, boot=boot))
        numbers = [(await heard.get())[4] for _ in range(2 * len(StageName))]
        assert numbers == list(range(1, 2 * len(StageName) + 1))
        reply = await call(bus, "Get", "ss", [INTERFACE, "Sequence"], PROPERTIES)
        assert reply.body[0].value == numbers[-1]


async def test_a_stage_has_an_object_of_its_own(private_bus: PrivateBus) -> None:
    """Its state as properties; Run is RunStage."""
    ran: list[tuple[StageName, str]] = []
    orders = replace(ORDERS, run_stage=lambda *asked: ran.append(asked))
    boot = START.boot.begun(StageName.CONFIGURE_OVS, 2.5).after(StageName.CONFIGURE_OVS, Waiting("OVS"), 3.0)
    hold = Inhibitor(StageName.CONFIGURE_OVS, "backup", "copies the disk", 1)
    status = replace(START, boot=boot, inhibitors=(hold,))
    path = "/org/nodenet1/stage/configure_ovs"
    async with serving(private_bus, orders, [status]), client(private_bus.address) as bus:
        values = (await call(bus, "GetAll", "s", [STAGE.name], PROPERTIES, path)).body[0]
        assert {name: value.value for name, value in values.items()} == {
            "Name": "configure-ovs", "Provider": "builtin", "Status": "waiting", "Detail": "OVS",
            "Started": 2_500_000, "Ended": 0, "NextTry": 8_000_000, "Held": [["backup", "copies the disk"]],
        }  # fmt: skip
        assert (await call(bus, "Run", interface=STAGE.name, path=path)).message_type is MessageType.METHOD_RETURN
        assert ran == [(StageName.CONFIGURE_OVS, "bridge make (uid 0)")]
        refused = await call(bus, "GetStatus", path=path)  # the other interface's method
        assert refused.message_type is MessageType.ERROR


def test_an_apply_and_a_rollback_are_told() -> None:
    """NetworkApplied with the digest in force, RolledBack with the cause."""
    facts = Facts(node_file="w.yml", digest="new", applied_digest="new")
    running = START.boot.begun(StageName.NMSTATE, 1.0)
    done = running.after(StageName.NMSTATE, Done("ok", facts, MessageId.NETWORK_APPLIED), 2.0)
    told = dict(signals(replace(START, boot=running), replace(START, boot=done, facts=facts)))
    assert told["NetworkApplied"] == ["w.yml", "new"]
    problem = Problem(MessageId.APPLY_FAILED, "mtu is 1500", "")
    failed = running.after(StageName.NMSTATE, Failed(problem, facts), 2.0)
    told = dict(signals(replace(START, boot=running), replace(START, boot=failed, facts=Facts(digest="new"))))
    assert told["RolledBack"] == ["new", "mtu is 1500"]


class SilentBus(Bus):
    """A bus that does not say who calls until it is *free*."""

    def __init__(self) -> None:
        super().__init__(address="unix:path=/nowhere", changed=lambda _: None)
        self.free = asyncio.Event()
        self.asked: list[str] = []

    async def uid_of(self, sender: str) -> int:
        self.asked.append(sender)
        await self.free.wait()
        return 65534


async def test_a_turn_of_orders_does_not_pass_the_limit() -> None:
    """All come before any of their tasks has run, and a stranger may give each the same serial number."""
    bus, reload = SilentBus(), "Reload"
    service = Service(bus, ORDERS, lambda: START)
    order = Frame(1, 0, 7, 0, 0, PATH, INTERFACE, reload, "", 0, ":1.9", "", 0)
    for _ in range(2 * MOST_UNCHECKED):
        service.handle(order)
    await asyncio.sleep(0)
    assert len(bus.asked) == MOST_UNCHECKED
    bus.free.set()
    for _ in range(3):
        await asyncio.sleep(0)
    service.handle(order)
    await asyncio.sleep(0)
    assert len(bus.asked) == MOST_UNCHECKED + 1


class Book:
    """Who holds, as the reconciler would know it."""

    def __init__(self, refuse: Busy | None = None) -> None:
        self.inhibitors: list[Inhibitor] = []
        self.refuse = refuse
        self.locks = InhibitorLocks(self.take, self.inhibitors.remove)

    def take(self, inhibitor: Inhibitor) -> None:
        if self.refuse:
            raise self.refuse
        self.inhibitors.append(inhibitor)

    async def empty(self) -> None:
        async with asyncio.timeout(5):
            while self.inhibitors:
                await asyncio.sleep(0.005)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_hold_ends_when_the_last_copy_is_closed() -> None:
    """Children that inherited it hold on; what a holder writes is nobody's business."""
    book = Book()
    before = open_descriptors()
    descriptor = book.locks.take(StageName.NMSTATE, "backup", "copies")
    child = await asyncio.create_subprocess_exec("sleep", "60", pass_fds=(descriptor,))
    os.write(descriptor, b"x" * 4096)
    os.close(descriptor)
    await asyncio.sleep(0.05)
    assert [(taken.who, taken.why) for taken in book.inhibitors] == [("backup", "copies")]
    child.kill()
    await child.wait()
    await book.empty()
    assert open_descriptors() == before


async def test_a_refused_hold_leaves_nothing_open() -> None:
    """Whatever the reason."""
    book = Book(refuse=Busy("nmstate runs already"))
    before = open_descriptors()
    with pytest.raises(Busy):
        book.locks.take(StageName.NMSTATE, "backup", "copies")
    assert open_descriptors() == before


async def test_a_holder_sees_the_daemon_go() -> None:
    """Its end of the pipe breaks: poll(2) reports an error."""
    book = Book()
    descriptor = book.locks.take(StageName.NMSTATE, "backup", "copies")
    book.locks.close()
    poll = select.poll()
    poll.register(descriptor, 0)
    assert poll.poll(1000) == [(descriptor, select.POLLERR)]
    os.close(descriptor)


HOLDER = """
import asyncio, sys
from dbus_next.aio import MessageBus
from dbus_next import Message
async def main():
    bus = await MessageBus(sys.argv[1], negotiate_unix_fd=True).connect()
    reply = await bus.call(Message(destination="org.nodenet1", path="/org/nodenet1", interface="org.nodenet1.Manager",
                                   member="Inhibit", signature="sss", body=["nmstate", "backup", "copies"]))
    print(reply.signature, len(reply.unix_fds), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_hold_is_taken_over_the_bus_and_ends_with_its_process(private_bus: PrivateBus) -> None:
    """Killed, not asked: the kernel closes what it held."""
    book = Book()
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=book.locks.take), lambda: START)
    async with running(bus):
        assert await bus.wait_up(5)
        before = open_descriptors()
        holder = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, private_bus.address, stdout=asyncio.subprocess.PIPE
        )
        assert holder.stdout
        assert await asyncio.wait_for(holder.stdout.readline(), 20) == b"h 1\n"
        assert [(taken.stage, taken.who) for taken in book.inhibitors] == [(StageName.NMSTATE, "backup")]
        holder.kill()
        await holder.communicate()
        await book.empty()
        assert open_descriptors() <= before


async def test_a_caller_that_takes_no_descriptors_holds_nothing(private_bus: PrivateBus) -> None:
    """The bus cannot pass it on; the inhibitor ends instead of staying for ever."""
    book = Book()
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=book.locks.take), lambda: START)
    async with running(bus), running(Bus(address=private_bus.address, changed=lambda _: None)) as other:
        assert await bus.wait_up(5)
        assert await other.wait_up(5)
        with pytest.raises(Exception, match=r".*"):
            await other.call(NAME, PATH, MANAGER.name, "Inhibit", "sss", ["nmstate", "a", "b"], seconds=2)
        await book.empty()


async def test_a_caller_that_wants_no_reply_holds_nothing(private_bus: PrivateBus) -> None:
    """No program gets the descriptor, so the inhibitor ends at once: its stage would wait for ever."""
    book, taken = Book(), asyncio.Event()

    def take(stage: StageName, who: str, why: str) -> int:
        taken.set()
        return book.locks.take(stage, who, why)

    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, replace(ORDERS, inhibit=take), lambda: START)
    async with running(bus), client(private_bus.address) as other:
        assert await bus.wait_up(5)
        call = Message(NAME, PATH, MANAGER.name, "Inhibit", signature="sss", body=["nmstate", "a", "b"])
        call.flags = MessageFlag.NO_REPLY_EXPECTED
        await other.send(call)
        await asyncio.wait_for(taken.wait(), 5)
        await book.empty()


async def test_descriptors_that_strangers_send_are_closed(private_bus: PrivateBus) -> None:
    """A table of descriptors that fills up would stop the daemon."""
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    Service(bus, ORDERS, lambda: START)
    async with running(bus), client(private_bus.address, negotiate_unix_fd=True) as stranger:
        assert await bus.wait_up(5)
        before = open_descriptors()
        call = {"destination": NAME, "path": PATH, "interface": MANAGER.name, "member": "GetStatus"}
        for _ in range(50):
            reply = await stranger.call(Message(**call, signature="h", body=[0], unix_fds=[0]))
            assert reply.error_name == "org.nodenet1.Error.InvalidArgument"
        async with asyncio.timeout(5):
            while open_descriptors() > before:
                await asyncio.sleep(0.005)
