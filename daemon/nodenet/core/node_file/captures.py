"""What does a capture of an NMState policy ask for, and what does it find in a network?

The expressions are NMState's: ``interfaces.name=="eth1"`` finds, ``capture.a | routes.running.metric:="10"`` finds and
changes, ``dns-resolver.running`` keeps a part, and words without an operator keep everything. libnmstate evaluates
them as well (`policy`): both must agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.value import frozen

LONGEST = 1000
"""Characters of an expression."""
LISTS = {("routes", "running"), ("routes", "config"), ("route-rules", "config")}
PARTS = frozenset({"interfaces", "routes", "route-rules", "dns-resolver", "hostname", "ovs-db", "ovn", "description"})
"""The keys of a network; NMState's ``state``."""
NAME = "capture"
SHOWN = frozenset({"name", "type", "state", "driver", "mac-address", "mtu", "destination", "next-hop-interface"})
"""Keys whose values are named where none of them is the one that is looked for: no secret is below them."""
MOST_SHOWN = 12
_INDEX, _NUMBER = re.compile(r"[0-9]{1,18}"), re.compile(r"-?[0-9]{1,18}")
_TOKEN = re.compile(r'\s*(?:(?P<sign>==|:=|\|)|"(?P<text>[^"]*)"|(?P<word>[^\s=!|":]+))')
Path = tuple[str, ...]


class CaptureWrong(ValueError):
    """An expression cannot be used, or finds nothing: the cause, the *remedy*, and the *column* in it, from 1."""

    def __init__(self, cause: str, remedy: str, column: int = 0) -> None:
        """Say why."""
        super().__init__(cause)
        self.remedy = remedy
        self.column = column


@frozen
class Value:
    """What is compared or written: *text*, or what is at *path* of the capture *source*, or of the network."""

    text: str | None = None
    source: str | None = None
    path: Path = ()


@frozen
class Capture:
    """One expression: *sign* is ``==``, ``:=`` or empty; *source* is the capture that it looks at, if it is one."""

    sign: str = ""
    path: Path = ()
    source: str | None = None
    value: Value = Value()

    @property
    def needs(self) -> tuple[str, ...]:
        """The captures that must be known before this one."""
        return tuple(each for each in (self.source, self.value.source) if each is not None)


@frozen
class _Token:
    kind: str
    text: str
    column: int

    @property
    def path(self) -> Path:
        """The parts between the dots, nothing where it is no path."""
        return tuple(self.text.split(".")) if self.kind == "word" and "." in self.text else ()


def parse(expression: str) -> Capture:
    """Return the capture. Raises CaptureWrong."""
    line = expression.strip().replace("\u00a0", " ").strip()
    if len(line) > LONGEST:
        raise CaptureWrong(f"the expression has more than {LONGEST} characters", "Divide it into several captures")
    if not line.isprintable():
        raise CaptureWrong("the expression has a control character", "Write it in one line of plain text")
    tokens = list(_tokens(line))
    source, tokens = _piped(tokens)
    signs = [number for number, each in enumerate(tokens) if each.kind == "sign"]
    if len(signs) > 1:
        cause = f"a second `{tokens[signs[1]].text}` in one expression"
        raise CaptureWrong(cause, "Write a capture for each step", tokens[signs[1]].column)
    return _compared(tokens, signs[0], source) if signs else _kept(tokens, source)


def _tokens(line: str) -> Iterator[_Token]:
    place = 0
    while place < len(line.rstrip()):
        found = _TOKEN.match(line, place)
        if found is None:
            raise CaptureWrong(_what_is_wrong(line, place), _remedy(line, place), place + 1)
        kind = str(found.lastgroup)
        yield _Token(kind, found[kind], found.start(kind) + 1)
        place = found.end()


def _what_is_wrong(line: str, place: int) -> str:
    rest = line[place:].lstrip()
    if rest.startswith('"'):
        return "a quoted text has no end"
    return f"`{rest[:2]}` is no operator"


def _remedy(line: str, place: int) -> str:
    if line[place:].lstrip().startswith('"'):
        return 'Write `"` behind it'
    return "Write `==` to find, `:=` to change, `|` behind a capture, and texts with `:` in double quotes"


def _piped(tokens: list[_Token]) -> tuple[str | None, list[_Token]]:
    pipe = next((number for number, each in enumerate(tokens) if (each.kind, each.text) == ("sign", "|")), None)
    if pipe is None:
        return None, tokens
    before, after = tokens[:pipe], tokens[pipe + 1 :]
    path = before[0].path if len(before) == 1 else ()
    if len(path) != 2 or path[0] != NAME:
        column = before[0].column if before else tokens[pipe].column
        raise CaptureWrong("in front of `|` stands no capture", "Write `capture.NAME | …`", column)
    if not after or not after[0].path:
        column = after[0].column if after else tokens[pipe].column
        raise CaptureWrong("behind `|` stands no path", "Write a path, such as `interfaces.name`", column)
    return path[1], after


def _compared(tokens: list[_Token], sign: int, source: str | None) -> Capture:
    left, right, operator = tokens[:sign], tokens[sign + 1 :], tokens[sign]
    path = left[0].path if len(left) == 1 else ()
    if not path:
        raise CaptureWrong(f"in front of `{operator.text}` stands no path", "Write one path there", operator.column)
    if path[0] == NAME:
        source, path = source or path[1], path[2:]
    if len(right) != 1 or (right[0].kind == "text" and not right[0].text):
        cause = f"behind `{operator.text}` stands {'more than one value' if len(right) > 1 else 'no value'}"
        raise CaptureWrong(cause, "Write one text in double quotes, or one path", operator.column)
    _known(path, left[0].column)
    return Capture(operator.text, path, source, _value(right[0]))


def _value(token: _Token) -> Value:
    if path := token.path:
        if path[0] != NAME:
            return Value(path=path)
        if len(path) < 3:
            raise CaptureWrong("the capture has no path behind its name", f"Write `{token.text}.…`", token.column)
        return Value(source=path[1], path=path[2:])
    is_null = token.kind == "word" and token.text.lower() == "null"
    return Value(None if is_null else token.text)


def _kept(tokens: list[_Token], source: str | None) -> Capture:
    if not tokens or not (path := tokens[0].path):
        return Capture(source=source)
    if len(tokens) > 1:
        raise CaptureWrong("two values without an operator", "Write `==` or `:=` between them", tokens[1].column)
    if path[0] == NAME:
        raise CaptureWrong("a capture without `|`", f"Write `{NAME}.NAME | …`", tokens[0].column)
    if path[0] not in PARTS:
        raise _no_part(path, tokens[0].column)
    return Capture(path=path, source=source)


def _known(path: Path, column: int) -> None:
    """Raise CaptureWrong where no list of a network has this path."""
    if "" in path:
        raise CaptureWrong("the path has an empty part", "Write one dot between two names", column)
    if (path[:1] == ("interfaces",) and len(path) > 1) or (path[:2] in LISTS and len(path) == 3):
        return
    raise _no_part(path, column)


def _no_part(path: Path, column: int) -> CaptureWrong:
    remedy = "Begin with `interfaces.KEY`, `routes.running.KEY`, `routes.config.KEY` or `route-rules.config.KEY`"
    return CaptureWrong(f"{'.'.join(path)[:60]!r} is no path into a network", remedy, column)


# What do captures find?

State = Mapping[str, Any]


def find(capture: Capture, network: State, known: Mapping[str, State]) -> State:
    """Return the part of *network* that *capture* finds; *known* are the captures that it needs.

    Raises CaptureWrong where it finds nothing.
    """
    looked_at = network if capture.source is None else known[capture.source]
    if not capture.sign:
        return dict(_only(looked_at, capture.path))
    text = _text_of(capture.value, network, known)
    depth = 1 if capture.path[0] == "interfaces" else 2
    place, inner = capture.path[:depth], capture.path[depth:]
    items: Any = looked_at
    for key in place:
        items = items.get(key) or {}
    if capture.sign == ":=":
        found = [_changed(item, inner, text) for item in items]
    else:
        found = [item for item in items if _matches(_get(item, inner), text or "")]
        if not found:
            what = {"interfaces": "interface", "routes": "route", "route-rules": "route rule"}[place[0]]
            cause = f"no {what} of this node has {'.'.join(inner)} = {(text or '')[:60]!r}{_there(items, inner)}"
            raise CaptureWrong(cause, "Compare it with `nmstatectl show`, or with `ip -d addr` and `ip route`")
    result: Any = found
    for key in reversed(place):
        result = {key: result}
    return dict(result)


def _there(items: Iterable[Any], inner: Path) -> str:
    """Return which values there are, in words: those of keys that are in every log."""
    if inner[-1] not in SHOWN:
        return ""
    found = {_text(value) or "" for each in items if (value := _get(each, inner)) is not _NOTHING}
    return f" (there: {', '.join(sorted(found)[:MOST_SHOWN])})" if found else ""


def _text_of(value: Value, network: State, known: Mapping[str, State]) -> str | None:
    if not value.path:
        return value.text
    return _text(at(network if value.source is None else known[value.source], value.path))


def at(document: Any, path: Sequence[str]) -> Any:  # noqa: ANN401  (JSON)
    """Return what is at *path*. Raises CaptureWrong."""
    for number, key in enumerate(path):
        if isinstance(document, list) and _INDEX.fullmatch(key):
            if int(key) >= len(document):
                cause = f"there is no entry {key} in {'.'.join(path[:number])}, which has {len(document)}"
                raise CaptureWrong(cause, "Count from 0")
            document = document[int(key)]
        elif isinstance(document, Mapping) and key in document:
            document = document[key]
        elif isinstance(document, list) and number:
            return _of_each(document, path[number:])
        else:
            there = ", ".join(map(str, document)) if isinstance(document, Mapping) else "no keys"
            cause = f"there is no {key[:60]!r} in {'.'.join(path[:number]) or 'the capture'} (there: {there[:200]})"
            raise CaptureWrong(cause, "Correct the path")
    return document


_NOTHING = object()


def _get(item: Any, path: Sequence[str]) -> Any:  # noqa: ANN401
    try:
        return at(item, path)
    except CaptureWrong:
        return _NOTHING


def _of_each(items: list[Any], path: Sequence[str]) -> list[Any]:
    found = (_get(each, path) for each in items if isinstance(each, Mapping))
    return [each for each in found if each is not _NOTHING]


def _matches(found: object, text: str) -> bool:
    if isinstance(found, list):
        return any(_matches(each, text) for each in found)
    return found is not _NOTHING and _text(found) == text


def _text(value: Any) -> str | None:  # noqa: ANN401
    """Return a value as NMState compares it: as JSON, and a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _changed(item: Any, path: Sequence[str], text: str | None) -> Any:  # noqa: ANN401
    key, *rest = path
    if rest:
        inner = item.get(key, {})
        if not isinstance(inner, Mapping):
            raise CaptureWrong(f"{key[:60]!r} is a single value, or a list", "Correct the path")
        return {**item, key: _changed(inner, rest, text)}
    if text is None:
        return {name: value for name, value in item.items() if name != key}
    flags: dict[str, object] = {"true": True, "false": False}
    value: object = flags.get(text, text)
    before = item.get(key)
    is_number = isinstance(before, int) and not isinstance(before, bool) and _NUMBER.fullmatch(text)
    return {**item, key: int(text) if is_number else value}


def _only(state: Any, path: Path) -> Any:  # noqa: ANN401
    if not path or not isinstance(state, Mapping):
        return state
    return {path[0]: _only(state[path[0]], path[1:])} if path[0] in state else {}
