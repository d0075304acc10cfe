"""Everything that other programs put on a link is there again after a change of that link."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from ipaddress import ip_address

import pytest

from fakes import FakeFiles, FakeKernel, FakeOvsdb, FakeProfiles, FakeStanding
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.ownership.things import NO_OTHERS, Kind, Thing
from nodenet.stages.apply.others import ASIDE, OthersOnLinks

MASQUERADE = Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",), "01")
SERVICE = Thing(Kind.ROUTE, "br-ex", ("172.30.0.0/16", "169.254.0.4", "254", "0"), "02")
VIP = Thing(Kind.ADDRESS, "br-ex", ("192.0.2.100",), "03")
ELSEWHERE = Thing(Kind.ADDRESS, "eth1", ("198.51.100.7",), "04")
BELOW = Thing(Kind.ADDRESS, "eth0", ("198.51.100.8",), "05")
OWN = {MADE_BY_NM: "1"}
BRIDGE = OvsBridge(
    "br-ex",
    ports=(
        OvsPort("br-ex", (OvsInterface("br-ex", "internal"),), OWN),
        OvsPort("eth0", (OvsInterface("eth0"),), OWN),
        OvsPort("patch", (OvsInterface("patch", "patch"),)),
    ),
)


def inventory() -> Inventory:
    profile = Profile("1", "own", "802-3-ethernet")
    return Inventory(tuple(Device(name, "ethernet", profile=profile) for name in ("br-ex", "eth0")))


@dataclass
class Rig:
    """A br-ex over eth0 on which another program is; eth1 has no profile."""

    standing: FakeStanding = field(default_factory=lambda: FakeStanding((SERVICE, MASQUERADE, VIP, ELSEWHERE)))
    kernel: FakeKernel = field(
        default_factory=lambda: FakeKernel(Snapshot((Link(1, "br-ex"), Link(2, "eth0"), Link(3, "eth1"))))
    )
    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(inventory()))
    ovsdb: FakeOvsdb = field(default_factory=lambda: FakeOvsdb(held=(BRIDGE,)))
    files: FakeFiles = field(default_factory=FakeFiles)
    back_seconds: float = 10.0

    def others(self) -> OthersOnLinks:
        """Return them as a new process of nodenetd has them."""
        vips = (ip_address("192.0.2.100"),)
        edges = (self.standing, self.kernel, self.profiles, self.ovsdb, self.files)
        return OthersOnLinks(*edges, vips, self.back_seconds, 0.3, 0.01)


async def test_what_others_have_is_known_for_links_with_a_profile() -> None:
    """A VIP is no difference either; ports are asked for only where a file is about Open vSwitch."""
    rig = Rig()
    found = await rig.others().now(bridges=True)
    assert found.addresses("br-ex") == {"169.254.0.2", "192.0.2.100"}
    assert found.addresses("eth1") == frozenset()
    assert found.routes("br-ex") == {("172.30.0.0/16", "169.254.0.4", "254")}
    assert found.ports == {("br-ex", "patch")}
    assert found.patched == {"br-ex"}
    rig.standing.there = ()
    assert await rig.others().now(bridges=False) == NO_OTHERS


async def test_nothing_of_others_is_there_during_a_change_and_everything_after_it() -> None:
    """VIPs move with their holder, and other links are not touched."""
    rig = Rig()
    async with rig.others().set_aside(["br-ex", "eth0"]):
        assert set(rig.standing.there) == {VIP, ELSEWHERE}
    assert set(rig.standing.there) == {VIP, ELSEWHERE, MASQUERADE, SERVICE}
    assert str(ASIDE) not in rig.files.content


async def test_a_node_on_which_nobody_else_is_writes_nothing() -> None:
    rig = Rig(FakeStanding())
    rig.profiles.broken = Unavailable("NetworkManager does not answer")
    async with rig.others().set_aside(["br-ex"]):
        assert rig.files.content == {}
    async with rig.others().kept():
        pass
    assert rig.files.content == {}


async def test_a_nodenetd_that_was_killed_in_the_middle_finds_the_note() -> None:
    """As it does after a rollback: what was set aside is put back with what is there now."""
    rig = Rig()
    with pytest.raises(KeyboardInterrupt):
        async with rig.others().set_aside(["br-ex"]):
            raise KeyboardInterrupt
    assert set(rig.standing.there) == {VIP, ELSEWHERE}
    await rig.others().put_back()
    assert set(rig.standing.there) == {VIP, ELSEWHERE, MASQUERADE, SERVICE}
    assert str(ASIDE) not in rig.files.content


async def test_what_a_rollback_takes_away_late_is_put_back_too() -> None:
    """NetworkManager answers before it has activated the profiles, which flushes the link."""
    rig = Rig()
    looks = 0
    noted = rig.standing.noted

    def flushed() -> tuple[Thing, ...]:
        nonlocal looks
        looks += 1
        if looks in (3, 9):
            rig.standing.take((MASQUERADE, SERVICE))
        return noted()

    rig.standing.noted = flushed  # type: ignore[method-assign]
    async with rig.others().kept():
        rig.standing.take((SERVICE,))
    assert looks > 9
    assert {MASQUERADE, SERVICE} <= set(rig.standing.there)


async def test_what_cannot_be_noted_is_put_back_from_memory() -> None:
    """A full disk below /run/nodenet takes no note; NetworkManager flushes the link all the same."""
    rig = Rig(files=FakeFiles(broken=PublishFailed("No space left on device")))
    async with rig.others().kept():
        rig.standing.take((MASQUERADE, SERVICE))
    assert {MASQUERADE, SERVICE} <= set(rig.standing.there)
    assert str(ASIDE) not in rig.files.content


async def test_only_an_undo_goes_on_without_knowing_what_others_have() -> None:
    """Anything else waits until the kernel answers: what NetworkManager then flushes would be lost."""
    rig = Rig()
    noted = rig.standing.noted

    def silent() -> tuple[Thing, ...]:
        raise Unavailable("the kernel does not answer")

    rig.standing.noted = silent  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        async with rig.others().kept(if_known=True):
            rig.standing.take((MASQUERADE,))
    undone = False
    async with rig.others().kept():
        undone = True
    assert undone
    assert MASQUERADE in noted()


async def test_a_patch_port_that_a_rollback_takes_away_is_put_back() -> None:
    """NetworkManager has only its own ports on a bridge then; other kinds of ports have links of their own."""
    rig = Rig()
    async with rig.others().kept():
        rig.ovsdb.held = (replace(BRIDGE, ports=BRIDGE.ports[:2]),)
    assert [port.name for port in rig.ovsdb.held[0].ports] == ["br-ex", "eth0", "patch"]
    async with rig.others().kept():
        rig.ovsdb.held = ()
    assert rig.ovsdb.held == ()


async def test_what_has_no_link_waits_for_it() -> None:
    """`nodenetctl bridge remove` takes br-ex away, and `bridge make` brings it again."""
    rig = Rig()
    there = rig.kernel.now
    async with rig.others().set_aside(["br-ex"]):
        rig.kernel.now = Snapshot((Link(2, "eth0"),))
    assert MASQUERADE not in rig.standing.there
    rig.kernel.now = there
    await rig.others().put_back()
    assert {MASQUERADE, SERVICE} <= set(rig.standing.there)
    assert str(ASIDE) not in rig.files.content


async def test_a_link_that_became_a_port_gets_nothing_back() -> None:
    """It has no configuration of its own any more."""
    rig = Rig(FakeStanding((BELOW,)), ovsdb=FakeOvsdb(held=()))
    async with rig.others().set_aside(["eth0"]):
        rig.ovsdb.held = (BRIDGE,)
    assert rig.standing.there == ()
    assert str(ASIDE) not in rig.files.content


async def test_what_the_kernel_refuses_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """After a bounded time, once; the rest is back."""
    rig = Rig(back_seconds=0.05)
    rig.standing.refused = frozenset({"172.30.0.0/16"})
    async with rig.others().set_aside(["br-ex"]):
        pass
    assert MASQUERADE in rig.standing.there
    said = capsys.readouterr().out
    assert said.count("The route 172.30.0.0/16 that another program had on br-ex is not back") == 1
    assert str(ASIDE) not in rig.files.content


async def test_a_torn_note_is_said_and_set_aside_again(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(files=FakeFiles({str(ASIDE): b"[{"}))
    await rig.others().put_back()
    assert f"{ASIDE} cannot be read" in capsys.readouterr().out
    async with rig.others().set_aside(["br-ex"]):
        pass
    assert {MASQUERADE, SERVICE} <= set(rig.standing.there)
