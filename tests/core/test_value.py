"""A value behaves as a frozen dataclass with slots does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from nodenet.core.value import frozen


@frozen
class Place:
    """A value with each kind of field."""

    KIND: ClassVar[str] = "place"
    name: str
    line: int = 0
    words: tuple[str, ...] = field(default_factory=tuple)
    seen: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def doubled(self) -> int:
        return self.line * 2


@dataclass(frozen=True, slots=True)
class Model:
    """The same as a dataclass: the model."""

    KIND: ClassVar[str] = "place"
    name: str
    line: int = 0
    words: tuple[str, ...] = field(default_factory=tuple)
    seen: list[int] = field(default_factory=list, compare=False, repr=False)


@frozen
class Checked:
    """A value that checks itself."""

    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(self.number)


@frozen
class Own:
    """A value with methods of its own in the place of the shared ones."""

    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@pytest.mark.parametrize(
    "question",
    [
        lambda kind: kind("a", 2, ("b",)) == kind("a", 2, ("b",), seen=[1]),
        lambda kind: kind("a") == kind("b"),
        lambda kind: kind("a") == "a",
        lambda kind: len({kind("a"), kind("a"), kind("b")}),
        lambda kind: repr(kind("a", 1)).partition("(")[2],
        lambda kind: replace(kind("a"), line=4).line,
        lambda kind: asdict(kind("a", words=("b", "c"))),
        lambda kind: [each.name for each in fields(kind)],
        is_dataclass,
        lambda kind: kind.__match_args__,
        lambda kind: kind.__slots__,
        lambda kind: copy.deepcopy(kind("a", 1)) == kind("a", 1),
        lambda kind: pickle.loads(pickle.dumps(kind("a", 1))) == kind("a", 1),  # noqa: S301 - our own bytes
        lambda kind: kind("a").seen is kind("a").seen,
        lambda kind: kind.KIND,
        lambda kind: hasattr(kind("a"), "__dict__"),
    ],
)
def test_it_answers_as_a_dataclass_does(question: Callable[[Any], Any]) -> None:
    assert question(Place) == question(Model)


def test_it_is_matched_by_position() -> None:
    match Place("a", 3):
        case Place(name, line):
            assert (name, line) == ("a", 3)


def test_it_cannot_be_changed() -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError):
        place.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.name
    assert place.doubled == 0


def test_it_checks_itself() -> None:
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)
    with pytest.raises(ValueError, match="-2"):
        replace(Checked(1), number=-2)


def test_its_own_methods_stay() -> None:
    assert Own(1) == Own(2)
    assert (hash(Own(1)), repr(Own(1))) == (7, "own")


def test_one_that_extends_a_dataclass_is_a_dataclass() -> None:
    @frozen
    class Longer(Model):
        more: int = 1

    assert Longer("a") == Longer("a", more=1)


def test_mistakes_are_refused() -> None:
    with pytest.raises(TypeError, match="follows default"):

        @frozen
        class Order:
            one: int = 1
            two: int  # type: ignore[misc]

    with pytest.raises(ValueError, match="mutable default"):

        @frozen
        class Shared:
            one: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]
