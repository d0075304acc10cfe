"""Which nodes are odd beside the others of their role."""

from __future__ import annotations

from nodenet.core.fleet.host import Host
from nodenet.core.fleet.odd import marks, natural


def fleet(*mtus: int, role: str = "worker") -> list[Host]:
    return [Host(f"{role}-{n}", f"{role}-{n}", role, "ok", ready=True, mtu=mtu) for n, mtu in enumerate(mtus)]


def test_a_value_that_more_than_half_share_is_usual() -> None:
    assert list(marks(fleet(1500, 1500, 9000))) == ["worker-2"]
    assert list(marks(fleet(1500, 1500))) == []


def test_without_a_common_mtu_all_are_odd() -> None:
    found = marks(fleet(1500, 9000))
    assert found["worker-0"][0].why == "1500: worker nodes have 1500 (1), 9000 (1)"
    assert list(found) == ["worker-0", "worker-1"]


def test_roles_are_compared_by_themselves() -> None:
    assert marks([*fleet(1500, 1500), *fleet(9000, 9000, role="control-plane")]) == {}


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    names = ["worker-10", "worker-9", "control-1", "10", "9", "w²", ""]
    assert sorted(names, key=natural) == ["", "9", "10", "control-1", "worker-9", "worker-10", "w²"]
