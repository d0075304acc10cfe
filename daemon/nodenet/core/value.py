"""How is an immutable value declared, at a fraction of the start-up cost of a dataclass?

``@frozen`` is ``@dataclass(frozen=True, slots=True)``, and `dataclasses` accepts its classes: ``replace``, ``fields``,
``asdict`` and ``match`` work, and `field` declares defaults. The difference is what happens at import. A dataclass
generates and compiles six functions for each class, which was almost half of the start of nodenetd. Only ``__init__``
depends on the fields so much that it is worth being generated; comparing, hashing, printing and copying are shared.
They cost about a microsecond more for each call, so the types that are compared by the thousand stay dataclasses.

Not supported, and refused or left to `dataclass` itself: inheritance from another dataclass.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, init=False, repr=False, eq=False)
class _Sample:
    one: int


_ORDINARY = getattr(dataclasses.fields(_Sample)[0], "_field_type")  # noqa: B009 - it has no public name
"""How `dataclasses` marks a field that is neither a ClassVar nor an InitVar."""
_PARAMETERS = getattr(_Sample, "__dataclass_params__")  # noqa: B009 - its type is private


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Return *cls* as an immutable class with slots for its annotated fields. Raises TypeError, ValueError."""
    if any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:]):
        return dataclasses.dataclass(frozen=True, slots=True)(cls)
    body = dict(cls.__dict__)
    fields = {name: _field(name, kind, body.pop(name, MISSING)) for name, kind in _annotations(cls).items()}
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    hashed = body.get("__hash__") is not None
    body |= {
        "__slots__": tuple(fields),
        "__match_args__": tuple(fields),
        "__dataclass_fields__": fields,
        "__dataclass_params__": _PARAMETERS,
        "__init__": _initialiser(fields, ready="__post_init__" in body),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _restore,
        "_compared": tuple(name for name, each in fields.items() if each.compare),
        "_shown": tuple(name for name, each in fields.items() if each.repr),
    }
    body.setdefault("__repr__", _repr)
    body.setdefault("__eq__", _equals)
    if not hashed:
        body["__hash__"] = _hash
    metaclass: Any = type(cls)
    made: type[T] = metaclass(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _annotations(cls: type) -> Mapping[str, Any]:
    """Return the annotations of *cls* itself that declare fields."""
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415 - new in 3.14

        found = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    else:
        found = inspect.get_annotations(cls)
    return {name: kind for name, kind in found.items() if not str(kind).startswith(("ClassVar", "typing.ClassVar"))}


def _field(name: str, kind: Any, default: Any) -> Field[Any]:  # noqa: ANN401
    """Return the description of a field as `dataclasses` has it. Raises ValueError for a default that can change."""
    made: Field[Any] = default if isinstance(default, Field) else field(default=default)
    if made.default.__class__.__hash__ is None:
        raise ValueError(f"mutable default {type(made.default)} for field {name}: use default_factory")
    made.name, made.type, made.kw_only = name, kind, False
    setattr(made, "_field_type", _ORDINARY)  # noqa: B010 - it has no public name
    return made


def _initialiser(fields: Mapping[str, Field[Any]], *, ready: bool) -> Callable[..., None]:
    """Return ``__init__`` for *fields*; *ready*: it calls ``__post_init__`` at its end. Raises TypeError."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    arguments, lines, optional = ["self"], [], ""
    for name, each in fields.items():
        given = name
        if each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            arguments.append(f"{name}=_default_{name}")
            optional = name
        elif each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            arguments.append(f"{name}=_MISSING")
            given = f"_make_{name}() if {name} is _MISSING else {name}"
            optional = name
        elif optional:
            raise TypeError(f"non-default argument {name!r} follows default argument {optional!r}")
        else:
            arguments.append(name)
        lines.append(f"_set(self, {name!r}, {given})")
    lines += ["self.__post_init__()"] if ready else []
    made: dict[str, Any] = {}
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), known, made)  # noqa: S102 - as dataclasses
    initialiser: Callable[..., None] = made["__init__"]
    return initialiser


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equals(self: Any, other: Any) -> Any:  # noqa: ANN401 - any class that `frozen` has made
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self is other or all(getattr(self, name) == getattr(other, name) for name in self._compared)


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(tuple([getattr(self, name) for name in self._compared]))


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
    return f"{type(self).__qualname__}({shown})"


def _state(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, name) for name in self.__slots__]


def _restore(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for name, kept in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, kept)
