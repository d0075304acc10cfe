"""What a trial keeps of the network before it, and the way back from it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nodenet.core.change.way_back import Network, WayBack, way_back, with_others
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile

SETTINGS = {
    "connection": ["dict", {"id": ["variant", "s", ["plain", "eth0"]], "timestamp": ["variant", "t", ["plain", 1]]}],
    "ipv4": ["dict", {"method": ["variant", "s", ["plain", "auto"]]}],
}
OTHER = {**SETTINGS, "ipv4": ["dict", {"method": ["variant", "s", ["plain", "manual"]]}]}
ETH0 = KeptProfile("u-0", "eth0", "/etc/eth0.nmconnection", in_memory=False, settings=SETTINGS)
KEPT = Network(("dummy0", "eth0"), (ETH0,), {"eth0": "u-0"})


def now(*profiles: Profile, uses: str | None = "u-0") -> Inventory:
    """Return what NetworkManager has, with the profile *uses* active on eth0."""
    active = next((each for each in profiles if each.uuid == uses), None)
    return Inventory((Device("eth0", "ethernet", profile=active),), profiles)


def profile(uuid: str, link: str = "eth0") -> Profile:
    """Return a profile."""
    return Profile(uuid, link, "802-3-ethernet", link)


def test_a_network_as_before_needs_nothing() -> None:
    """Only the time of the last activation differs."""
    again = json.loads(json.dumps(SETTINGS).replace('["plain", 1]', '["plain", 2]'))
    found = way_back(KEPT, now(profile("u-0")), [replace(ETH0, settings=again)], rolled_back=False)
    assert found == WayBack((), (), ())
    assert found.empty


def test_a_changed_profile_comes_back_and_is_activated() -> None:
    """Whether NetworkManager has rolled back or not: it did not restore that one."""
    for rolled_back in (False, True):
        found = way_back(KEPT, now(profile("u-0")), [replace(ETH0, settings=OTHER)], rolled_back=rolled_back)
        assert found == WayBack((ETH0,), (), (("u-0", "eth0"),))


@pytest.mark.parametrize("rolled_back", [False, True])
def test_a_profile_that_is_back_is_activated_where_that_was_interrupted(*, rolled_back: bool) -> None:
    """NetworkManager gave its link the network of the file, and new settings alone do not change that."""
    inventory = now(profile("u-0"))
    assert way_back(KEPT, inventory, [ETH0], rolled_back=rolled_back).empty
    begun = replace(KEPT, due={"eth0": "u-0"})
    assert way_back(begun, inventory, [ETH0], rolled_back=rolled_back) == WayBack((), (), (("u-0", "eth0"),))
    spared = now(profile("u-0"), replace(profile("u-7"), name="mine"))
    assert way_back(begun, spared, [ETH0], rolled_back=rolled_back).empty


MANUAL = {
    **SETTINGS,
    "connection": [
        "dict",
        {"id": ["variant", "s", ["plain", "eth0"]], "autoconnect": ["variant", "b", ["plain", False]]},
    ],
}


def test_a_link_that_was_not_in_use_is_so_again() -> None:
    """NetworkManager activated it with the keyfile of the file, which gave it the default route."""
    idle = replace(ETH0, settings=MANUAL)
    kept = replace(KEPT, profiles=(idle,), active={})
    assert way_back(kept, now(profile("u-0")), [ETH0], rolled_back=False) == WayBack((idle,), (), (), ("eth0",))
    assert way_back(kept, now(profile("u-0"), uses=None), [ETH0], rolled_back=False) == WayBack((idle,), (), ())
    assert way_back(kept, now(profile("u-0")), [idle], rolled_back=False).empty  # an administrator's order since


def test_a_link_whose_cable_was_out_gets_its_profile_as_it_was() -> None:
    """NetworkManager activates it by itself, and would not do so after a disconnection."""
    kept = replace(KEPT, active={})
    changed = [replace(ETH0, settings=OTHER)]
    assert way_back(kept, now(profile("u-0")), changed, rolled_back=False) == WayBack((ETH0,), (), (("u-0", "eth0"),))
    begun = replace(kept, due={"eth0": "u-0"})
    assert way_back(begun, now(profile("u-0")), [ETH0], rolled_back=False) == WayBack((), (), (("u-0", "eth0"),))


def test_a_link_with_another_name_stays_in_use() -> None:
    """A profile that names no link follows its NIC, which is called eth0 now."""
    kept = replace(KEPT, profiles=(replace(ETH0, settings=MANUAL),), active={"eth7": "u-0"})
    found = way_back(kept, now(profile("u-0", "")), [ETH0], rolled_back=False)
    assert (found.activate, found.disconnect) == ((("u-0", "eth0"),), ())


def test_a_profile_that_names_another_link_is_not_activated() -> None:
    """NetworkManager would refuse that, and be asked for a minute."""
    settings = {**SETTINGS, "connection": ["dict", {"interface-name": ["variant", "s", ["plain", "eth7"]]}]}
    kept = replace(KEPT, profiles=(replace(ETH0, settings=settings),), active={"eth7": "u-0"})
    assert way_back(kept, now(profile("u-0")), [ETH0], rolled_back=False) == WayBack(kept.profiles, (), ())


def test_a_profile_of_an_administrator_is_not_disconnected() -> None:
    idle = replace(ETH0, settings=MANUAL)
    kept, mine = replace(KEPT, profiles=(idle,), active={}), replace(profile("u-7"), name="mine")
    found = way_back(kept, now(profile("u-0"), mine), [ETH0], rolled_back=False)
    assert found == WayBack((idle,), (), ())


def test_a_deleted_profile_comes_back() -> None:
    assert way_back(KEPT, now(), [], rolled_back=False) == WayBack((ETH0,), (), (("u-0", "eth0"),))


def test_a_profile_that_was_in_memory_comes_back_where_its_link_has_no_other_one() -> None:
    """NetworkManager makes one for a link without a profile when it begins; it began with the one of the trial."""
    automatic = replace(ETH0, in_memory=True)
    kept = replace(KEPT, profiles=(automatic,))
    made = replace(profile("u-3"), generated=True)
    assert way_back(kept, now(made, uses="u-3"), [], rolled_back=False).empty
    of_trial = profile("u-1")
    found = way_back(kept, now(of_trial, uses="u-1"), [], rolled_back=False)
    assert found == WayBack((automatic,), ("u-1",), (("u-0", "eth0"),))


def test_a_profile_in_memory_that_was_of_no_link_does_not_come_back() -> None:
    kept = replace(KEPT, profiles=(ETH0, replace(ETH0, uuid="u-9", in_memory=True)))
    assert way_back(kept, now(profile("u-0")), [ETH0], rolled_back=False).empty


def test_a_profile_in_memory_does_not_come_back_for_a_nic_that_has_another_name() -> None:
    """NetworkManager has made it again for that name, by the MAC: with the same UUID."""
    kept = replace(KEPT, profiles=(replace(ETH0, in_memory=True),))
    renamed = Inventory((Device("ens7", "ethernet"),), (replace(profile("u-0", "ens7"), generated=True),))
    assert way_back(kept, renamed, [], rolled_back=False).empty


def test_a_new_profile_goes_only_where_it_is_for_a_link_of_the_file() -> None:
    """Another program may have made one meanwhile, or NetworkManager by itself."""
    generated = replace(profile("u-3", "dummy0"), generated=True)
    found = now(profile("u-0"), profile("u-1", "dummy0"), profile("u-2", "eth7"), generated)
    assert way_back(KEPT, found, [ETH0], rolled_back=False) == WayBack((), ("u-1",), ())


def test_a_profile_that_an_administrator_made_since_is_spared_with_its_link() -> None:
    """After a power cut in an apply; libnmstate gives a new profile the name of its link."""
    mine, made = replace(profile("u-7"), name="mine"), profile("u-8", "dummy0")
    inventory = now(mine, made, profile("u-0"), uses="u-7")
    spared = way_back(KEPT, inventory, [replace(ETH0, settings=OTHER)], rolled_back=False)
    assert spared == WayBack((ETH0,), ("u-8",), ())


def test_a_profile_that_another_program_made_since_belongs_to_the_network_that_comes_back() -> None:
    """The checkpoint's rollback deletes it, and takes it from its link."""
    mine = Profile("u-7", "storage", "802-3-ethernet", "eth7")
    made, automatic = profile("u-8", "dummy0"), replace(profile("u-3", "eth9"), generated=True)
    devices = (Device("eth0", "ethernet", profile=profile("u-0")), Device("eth7", "ethernet", profile=mine))
    then = Inventory(devices, (profile("u-0"), mine, made, automatic))
    present = [ETH0, *(replace(ETH0, uuid=uuid) for uuid in ("u-7", "u-8", "u-3"))]
    kept = with_others(KEPT, then, present)
    assert kept == replace(KEPT, profiles=(ETH0, present[1]), active={"eth0": "u-0", "eth7": "u-7"})
    after = Inventory((devices[0], Device("eth7", "ethernet")), (profile("u-0"),))
    assert way_back(kept, after, [ETH0], rolled_back=True) == WayBack((present[1],), (), (("u-7", "eth7"),))


@pytest.mark.parametrize("name", ["br-ex", "br-ex-br", "br-ex-if", "br-ex-port"])
def test_names_of_libnmstate_are_those_of_the_link_and_what_it_is(name: str) -> None:
    kept = replace(KEPT, links=("br-ex",))
    inventory = now(replace(profile("u-7", "br-ex"), name=name), profile("u-0"))
    assert way_back(kept, inventory, [ETH0], rolled_back=False).delete == ("u-7",)


def test_a_new_profile_with_a_name_that_the_file_gives_it_goes() -> None:
    """The file has "profile-name": it is none of an administrator's, whose profile is spared."""
    lan = replace(profile("u-8"), name="lan")
    inventory = now(lan, profile("u-0"), uses="u-8")
    assert way_back(KEPT, inventory, [ETH0], rolled_back=False) == WayBack((), (), ())
    kept = replace(KEPT, names=("lan",))
    found = way_back(kept, inventory, [ETH0], rolled_back=False)
    assert found == WayBack((), ("u-8",), (("u-0", "eth0"),))


@pytest.mark.parametrize(("autoconnect", "activated"), [(True, ()), (False, (("u-0", "eth0"),))])
def test_a_new_profile_of_another_program_keeps_its_link_unless_it_is_spare(
    autoconnect: bool,  # noqa: FBT001
    activated: tuple[tuple[str, str], ...],
) -> None:
    """NetworkManager has lost the link's own one with br-ex; a spare one would never be activated."""
    other = replace(profile("u-9"), name="spare", settings={"connection": {"autoconnect": autoconnect}})
    inventory = now(other, profile("u-0"), uses="")
    assert way_back(KEPT, inventory, [ETH0], rolled_back=False) == WayBack((), (), activated)
    in_use = now(other, profile("u-0"), uses="u-9")
    assert way_back(KEPT, in_use, [ETH0], rolled_back=False) == WayBack((), (), ())


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_new_profile_of_a_nic_that_the_file_identifies_by_its_mac_address_goes(*, in_memory: bool) -> None:
    """It names no link; that of NetworkManager's own making comes back, too."""
    before = replace(ETH0, in_memory=in_memory)
    kept = replace(KEPT, links=("uplink",), profiles=(before,), names=("uplink",))
    made, other = replace(profile("u-8", ""), name="uplink"), replace(profile("u-9", ""), name="another program's")
    found = way_back(kept, now(made, other, uses="u-8"), [], rolled_back=False)
    assert found == WayBack((before,), ("u-8",), (("u-0", "eth0"),))


def test_a_link_with_another_profile_gets_its_own_unless_that_is_on_its_way() -> None:
    """After a rollback NetworkManager is still activating it."""
    found = now(profile("u-0"), profile("u-1"), uses="u-1")
    assert way_back(KEPT, found, [ETH0], rolled_back=False).activate == (("u-0", "eth0"),)
    assert way_back(KEPT, found, [ETH0], rolled_back=True).activate == ()


def of_kind(kind: str) -> Network:
    """Return the network before a trial, with a profile of *kind* on the link."""
    settings = json.loads(
        json.dumps(SETTINGS).replace('"timestamp"', f'"type": ["variant", "s", ["plain", "{kind}"]], "timestamp"')
    )
    return replace(KEPT, profiles=(replace(ETH0, settings=settings),))


@pytest.mark.parametrize(("kind", "activated"), [("802-3-ethernet", ()), ("vlan", (("u-0", "eth0"),))])
def test_a_link_that_is_gone_is_activated_where_that_makes_it(
    kind: str, activated: tuple[tuple[str, str], ...]
) -> None:
    """The file deleted a VLAN, which no file of the node has, and NetworkManager was started again."""
    kept = of_kind(kind)
    assert way_back(kept, Inventory(), [], rolled_back=False) == WayBack(kept.profiles, (), activated)
    there = Inventory((), (profile("u-0"),))
    assert way_back(kept, there, kept.profiles, rolled_back=False).activate == activated
    assert way_back(kept, there, kept.profiles, rolled_back=True).activate == ()
