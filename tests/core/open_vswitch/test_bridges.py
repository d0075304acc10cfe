"""Who put a port on a bridge."""

from nodenet.core.network_manager.profiles import MADE_BY_NM
from nodenet.core.open_vswitch import PHYSICAL, OvsInterface, OvsPort


def test_network_manager_marks_what_it_makes() -> None:
    assert OvsPort("eth0", external_ids={MADE_BY_NM: "a-uuid"}).by_network_manager
    assert not OvsPort("eth0").by_network_manager


def test_links_of_the_host_have_one_of_these_types() -> None:
    assert OvsInterface("eth0").kind in PHYSICAL
    assert {"internal", "patch"}.isdisjoint(PHYSICAL)
