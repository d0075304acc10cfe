"""How does systemd read its unit files again and start a unit, and how did the start end?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.errors import Unavailable, UnitFailed
from nodenet.core.network_manager.state import Service
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.edge.bus.connection import Message, MessageType, Variant
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH
from nodenet.edge.systemd.units import Systemd, Units, environment, parse_shown, parse_states

UNIT_PATH = f"{PATH}/unit/other_2eservice"


class Stand:
    """What answers as org.freedesktop.systemd1 on the test's bus: one service, its calls written down."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.calls: list[str] = []
        self.refuse_start = False
        self.before: dict[int, list[tuple[int, str]]] = {}
        """Job → the jobs that it waits for, each with its unit."""
        self.common: dict[str, Any] = {
            "Id": Variant("s", "other.service"),
            "LoadState": Variant("s", "loaded"),
            "ActiveState": Variant("s", "inactive"),
            "SubState": Variant("s", "dead"),
            "Job": Variant("(uo)", [0, "/"]),
            "After": Variant("as", ["basic.target"]),
            "ConditionResult": Variant("b", False),
            "ConditionTimestampMonotonic": Variant("t", 0),
            "InactiveExitTimestampMonotonic": Variant("t", 0),
        }
        self.service = {"Result": Variant("s", "success"), "Type": Variant("s", "oneshot")}
        connection.add_message_handler(self.answer)

    def answer(self, message: Any) -> Any:  # noqa: PLR0911 -- one for each method
        if message.message_type is not MessageType.METHOD_CALL or message.destination != NAME:
            return None
        self.calls.append(message.member)
        match message.member:
            case "LoadUnit":
                return Message.new_method_return(message, "o", [UNIT_PATH])
            case "GetAll":
                which = self.common if message.body[0].endswith(".Unit") else self.service
                return Message.new_method_return(message, "a{sv}", [which])
            case "StartUnit" if self.refuse_start:
                return Message.new_error(message, f"{NAME}.NoSuchUnit", "Unit other.service not found.")
            case "StartUnit":
                self.end_job("done")  # before the reply: the worst order
                return Message.new_method_return(message, "o", [f"{PATH}/job/7"])
            case "GetJobBefore" if message.body[0] in self.before:
                found = [[job, unit, "start", "waiting", "/j", "/u"] for job, unit in self.before[message.body[0]]]
                return Message.new_method_return(message, "a(usssoo)", [found])
            case "GetJobBefore":
                return Message.new_error(message, f"{NAME}.NoSuchJob", "Job does not exist.")
            case "RefUnit":
                return Message.new_method_return(message)
            case _:
                return Message.new_error(message, f"{NAME}.AlreadySubscribed", "Client is already subscribed.")

    def end_job(self, result: str, unit: str = "other.service") -> None:
        body = [7, f"{PATH}/job/7", unit, result]
        self.connection.send(Message.new_signal(PATH, MANAGER, "JobRemoved", "uoss", body))


@contextlib.asynccontextmanager
async def stand(private_bus: PrivateBus) -> AsyncIterator[Stand]:
    async with client(private_bus.address) as connection:
        await connection.request_name(NAME)
        yield Stand(connection)


async def test_a_job_that_ends_before_the_reply_is_not_missed(private_bus: PrivateBus) -> None:
    """Signals are asked for before the start."""
    heard: list[str] = []
    bus = quiet(private_bus.address)
    units = Units(bus, lambda: heard.append("changed"))
    async with stand(private_bus) as systemd, running(bus):
        assert await bus.wait_up(5)
        unit = await units.unit("other.service")
        assert (unit.id, unit.active_state, unit.job, unit.ran, unit.condition) == (
            "other.service", "inactive", None, False, True
        )  # fmt: skip
        assert units.ended(unit) is None
        await units.start(unit)
        async with asyncio.timeout(5):
            while not heard:
                await asyncio.sleep(0.005)
        assert units.ended(unit) == "done"
        assert systemd.calls.index("Subscribe") < systemd.calls.index("StartUnit")


async def test_jobs_of_other_units_are_nobodys_business(private_bus: PrivateBus) -> None:
    """A boot has hundreds of them: the bus keeps them away."""
    heard: list[str] = []
    bus = quiet(private_bus.address)
    units = Units(bus, lambda: heard.append("changed"))
    async with stand(private_bus) as systemd, running(bus):
        assert await bus.wait_up(5)
        unit = await units.unit("other.service")
        for _ in range(100):
            systemd.end_job("failed", "stranger.service")
        systemd.end_job("timeout")
        async with asyncio.timeout(5):
            while not heard:
                await asyncio.sleep(0.005)
        assert units.ended(unit) == "timeout"
        assert heard == ["changed"]


async def test_a_unit_that_systemd_does_not_start_is_an_error_with_its_words(private_bus: PrivateBus) -> None:
    """Not found, masked, no permission."""
    bus = quiet(private_bus.address)
    units = Units(bus, lambda: None)
    async with stand(private_bus) as systemd, running(bus):
        assert await bus.wait_up(5)
        systemd.refuse_start = True
        with pytest.raises(UnitFailed, match=r"other.service: Unit other.service not found"):
            await units.start(await units.unit("other.service"))


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ({7: [(8, "kdump.service"), (9, "dbus.service")], 8: [(10, "network-online.target"), (7, "other.service")],
          9: [], 10: [(11, "nodenetd.service")]}, ("kdump.service", "network-online.target", "nodenetd.service")),
        ({7: [(11, "nodenet-ready.service")]}, ("nodenet-ready.service",)),
        ({7: [(8, "a.service")], 8: [(9, "b.service"), (12, "gone.service")], 9: [(7, "other.service")]}, ()),
        ({}, ()),
    ],
    ids=["over two units", "at once", "others only", "a job that ended meanwhile"],
)  # fmt: skip
async def test_what_a_queued_job_waits_for_is_known(
    private_bus: PrivateBus, before: dict[int, list[tuple[int, str]]], behind: tuple[str, ...]
) -> None:
    """A unit of ours at the end of the way means that nothing moves any more (R62)."""
    bus = quiet(private_bus.address)
    async with stand(private_bus) as systemd, running(bus):
        assert await bus.wait_up(5)
        systemd.common["Job"], systemd.before = Variant("(uo)", [7, f"{PATH}/job/7"]), before
        unit = await Units(bus, lambda: None).unit("other.service")
        assert (unit.job, unit.behind) == (7, behind)


async def test_without_systemd_a_unit_is_unavailable(private_bus: PrivateBus) -> None:
    """It may come back."""
    bus = quiet(private_bus.address)
    async with running(bus):
        assert await bus.wait_up(5)
        with pytest.raises(Unavailable):
            await Units(bus, lambda: None).unit("other.service")


@dataclass
class Given:
    """A systemd that knows one service, as a row of ListUnitsByNames."""

    active_state: str = "failed"
    calls: list[Any] = field(default_factory=list)
    refuse: bool = False

    def answer(self, message: Any) -> Any:
        if message.message_type is not MessageType.METHOD_CALL or message.destination != NAME:
            return None
        self.calls.append((message.member, *message.body))
        match message.member:
            case "ListUnitsByNames":
                row = ["a.service", "", "loaded", self.active_state, "failed", "", UNIT_PATH, 4, "start", "/job/4"]
                return Message.new_method_return(message, "a(ssssssouso)", [[row]])
            case "Get":
                values = {"Result": Variant("s", "timeout"), "NRestarts": Variant("u", 2)}
                return Message.new_method_return(message, "v", [values[message.body[1]]])
            case "StartUnit" if self.refuse:
                return Message.new_error(message, f"{NAME}.UnitMasked", "Unit a.service is masked.")
            case _:
                return Message.new_method_return(message)


async def test_a_service_is_looked_at_and_one_that_failed_is_started_without_a_fight(private_bus: PrivateBus) -> None:
    """Its result is asked for only where it failed; a job that somebody queued is not replaced."""
    bus, given = quiet(private_bus.address), Given()
    systemd = Systemd(bus)
    assert await systemd.service("a.service") is None  # no bus yet
    async with client(private_bus.address) as connection, running(bus):
        connection.add_message_handler(given.answer)
        await connection.request_name(NAME)
        assert await bus.wait_up(5)
        assert await systemd.service("a.service") == Service("loaded", "failed", "start", "timeout", 2)
        assert await systemd.start_failed("a.service") is None
        assert given.calls[3:] == [("ResetFailedUnit", "a.service"), ("StartUnit", "a.service", "fail")]
        given.refuse, given.active_state = True, "inactive"
        assert "masked" in str(await systemd.start_failed("a.service"))
        given.calls.clear()
        assert await systemd.service("a.service") == Service("loaded", "inactive", "start")
        assert len(given.calls) == 1


async def test_whether_a_unit_runs_is_asked_on_systemds_own_socket_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bus is silent, and kubelet has never started: this is known, so nothing is kept for it."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text('#!/bin/sh\nprintf "ActiveState=inactive\\n\\nActiveState=%s\\n" "$STATE"\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    systemd = Systemd(quiet("unix:path=/nowhere"))
    for state, runs in (("inactive", False), ("active", True)):
        monkeypatch.setenv("STATE", state)
        assert await systemd.any_runs(("kubelet.service", "crio.service")) is runs
    systemctl.write_text("#!/bin/sh\nexit 1\n")
    assert await systemd.any_runs(("kubelet.service", "crio.service")) is None


SHOWN = """LoadState=loaded
Environment="SPACES=a b" KUBELET_NODE_IP=192.0.2.5
UnsetEnvironment=KUBELET_NODE_IP "A=b c"
EnvironmentFiles=/etc/os-release (ignore_errors=no)
EnvironmentFiles=/etc/kubernetes/kubelet-env (ignore_errors=yes)
FragmentPath=/usr/lib/systemd/system/kubelet.service
ExecStart={ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $KUBELET_EXTRA_ARGS --v=2 ; ignore_errors=no ; pid=0 }
DropInPaths=/etc/systemd/system/kubelet.service.d/10-a.conf /etc/systemd/system/kubelet.service.d/20-nodenet.conf
"""


def test_the_environment_of_a_unit_is_read() -> None:
    """As over D-Bus: variables, files and drop-ins in their order (R14)."""
    directory = PurePosixPath("/etc/systemd/system/kubelet.service.d")
    assert parse_shown(SHOWN) == UnitEnvironment(
        {"SPACES": "a b", "KUBELET_NODE_IP": "192.0.2.5"},
        (PurePosixPath("/etc/os-release"), PurePosixPath("/etc/kubernetes/kubelet-env")),
        (
            PurePosixPath("/usr/lib/systemd/system/kubelet.service"),
            *(directory / "10-a.conf", directory / "20-nodenet.conf"),
        ),
        removals=("KUBELET_NODE_IP", "A=b c"),
        command=("/usr/bin/kubelet", "$KUBELET_EXTRA_ARGS", "--v=2"),
    )


def test_a_value_that_only_bash_can_read_hides_no_other_one() -> None:
    """An apostrophe beside a line break: kubelet would be held back for ever while the bus is down (R14)."""
    text = "LoadState=loaded\nEnvironment=$'NOTE=it\\'s\\nlong' KUBELET_NODE_IP=192.0.2.5\n"
    shown = parse_shown(text)
    assert shown
    assert shown.variables["KUBELET_NODE_IP"] == "192.0.2.5"


def test_a_unit_without_any_of_them() -> None:
    assert parse_shown("LoadState=loaded\nEnvironment=\nDropInPaths=\n") == UnitEnvironment({})


@pytest.mark.parametrize("text", ["LoadState=not-found\nEnvironment=A=1\n", "LoadState=masked\n", ""])
def test_a_unit_that_is_not_there_has_none(text: str) -> None:
    assert parse_shown(text) is None


@pytest.mark.parametrize(
    ("states", "runs"),
    [
        (("inactive", "inactive"), False),
        (("inactive", "failed"), False),
        (("active", "inactive"), True),
        (("inactive", "activating"), True),
        (("inactive",), None),
        ((), None),
    ],
)
def test_which_units_run_is_read(states: tuple[str, ...], runs: object) -> None:
    """Where systemctl names fewer units than were asked for, nothing is known."""
    assert parse_states("\n\n".join(f"ActiveState={state}" for state in states) + "\n", 2) is runs


async def test_a_systemctl_that_does_not_start_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where no more processes can be started: that may pass."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="systemctl does not start: No such file or directory"):
        await environment("kubelet.service")


@pytest.mark.parametrize(("word", "needed"), [("yes", True), ("no", False)])
def test_whether_systemd_has_read_the_files_is_read(word: str, needed: object) -> None:
    """NeedDaemonReload, as over D-Bus."""
    shown = parse_shown(f"LoadState=loaded\nNeedDaemonReload={word}\n")
    assert shown
    assert shown.needs_reload is needed
