"""What is wrong with an NMState policy, and to which document does it lead on a node?

A policy has ``capture``, expressions that find something in the network of a node, and ``desiredState`` (or
``desired``), a document in which ``{{ capture.NAME.PATH }}`` stands for what was found. It leads to another document on
each node, and to another one after that document is applied, so a node keeps the document (`stages.apply.policies`).

libnmstate's own answer has only what differs from the network: of a policy whose document is in force, nothing. So the
captures are evaluated here too, which gives the whole document, and libnmstate judges it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.captures import NAME, Capture, CaptureWrong, at, find, parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import Finding, refusal, shown
from nodenet.core.node_file.finding import at as finding_at
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, json_values
from nodenet.core.value import frozen

KEYS = ("capture", "desiredState", "desired")
DESIRED = KEYS[1:]
MOST_CAPTURES = 100
MOST_BYTES = 1 << 20
"""Of the document that a policy leads to; as of a node file."""
_LEASED = ("valid-life-time", "valid-left", "valid-lft", "preferred-life-time", "preferred-left", "preferred-lft")
_REFERENCE = re.compile(r"(?P<before>[^{}]*)\{\{\s*(?P<path>[^{}\s]*)\s*\}\}(?P<after>[^{}]*)")


def is_policy(document: Node | None) -> bool:
    """Return whether the document is a policy, not a state."""
    return isinstance(document, Block) and any(key.text in KEYS for key, _ in document.entries)


def template(document: Block) -> Block | None:
    """Return the document that the policy fills."""
    found = next((value for key, value in document.entries if key.text in DESIRED), None)
    return found if isinstance(found, Block) and not found.is_list else None


def findings(document: Block) -> Iterator[Finding]:
    """Yield what is wrong with a policy, as far as it is known without a network."""
    yield from _keys(document)
    captures, wrong = _captures(document)
    yield from wrong
    yield from _circles(document, captures)
    if (desired := template(document)) is None:
        cause = "this NMState policy has no `desiredState`, a mapping: it would change nothing"
        yield finding_at(document, "", cause, "Write the document to be filled below `desiredState:`")
        return
    holes = {(each.line, each.column) for each in _references(desired)}
    known = frozenset(captures) | {key.text for key in _capture_keys(document)}
    for scalar in _references(desired):
        yield from _reference(scalar, known)
    yield from (each for each in wrong_keys(_with_holes(desired)) if (each.line, each.column) not in holes)


def _keys(document: Block) -> Iterator[Finding]:
    for key, first in document.doubled:
        yield finding_at(key, key.text, f"the key is in line {first} already", "Keep one of the two")
    for key, _ in document.entries:
        if key.text not in KEYS:
            remedy = "A policy has `capture` and `desiredState`: move it below one of them, or remove it"
            yield finding_at(key, shown(key.text), "an NMState policy has no such key", remedy)
    if len(both := [key for key, _ in document.entries if key.text in DESIRED]) > 1:
        yield finding_at(both[1], both[1].text, "`desired` is another word for `desiredState`", "Keep one of the two")


def _capture_keys(document: Block) -> list[Scalar]:
    section = document.get("capture")
    return [key for key, _ in section.entries] if isinstance(section, Block) else []


def _captures(document: Block) -> tuple[dict[str, Capture], list[Finding]]:
    """Return the captures that can be used, and what is wrong with the others."""
    section, found, wrong = document.get("capture"), {}, list[Finding]()
    if section is None or (isinstance(section, Scalar) and section.plain and not section.text):
        return {}, []
    if isinstance(section, Scalar) or section.is_list:
        return {}, [
            finding_at(section, "capture", "a mapping was expected", "Write each capture as `NAME: EXPRESSION`")
        ]
    if len(section.entries) > MOST_CAPTURES:
        cause = f"more than {MOST_CAPTURES} captures"
        return {}, [finding_at(section, "capture", cause, "Keep those that `desiredState` refers to")]
    for key, first in section.doubled:
        wrong.append(finding_at(key, f"capture.{shown(key.text)}", f"in line {first} already", "Keep one of the two"))
    for key, value in section.entries:
        where = f"capture.{shown(key.text)}"
        if not re.fullmatch(r"[\w-]{1,63}", key.text):
            wrong.append(finding_at(key, where, "no name of a capture", "Write letters, digits, `-` and `_`"))
        elif not isinstance(value, Scalar):
            wrong.append(finding_at(value, where, "an expression was expected", "Write the expression in one line"))
        else:
            try:
                found[key.text] = parse(value.text)
            except CaptureWrong as error:
                place = f", at character {error.column}" if error.column else ""
                wrong.append(finding_at(value, where, f"{error}{place}", error.remedy, shown(value.text)))
    return found, wrong


def _circles(document: Block, captures: Mapping[str, Capture]) -> Iterator[Finding]:
    """Yield the captures that need one that is not there, or themselves."""
    names = {key.text: key for key in _capture_keys(document)}
    for name, capture in captures.items():
        for needed in capture.needs:
            if needed not in names:
                remedy = f"Write the capture {shown(needed)!r}, or correct the name"
                yield finding_at(names[name], f"capture.{name}", f"there is no capture {shown(needed)!r}", remedy)
    for name in sorted(captures.keys() - set(_ordered(captures))):
        if all(each in captures for each in captures[name].needs):
            cause = "the capture needs its own result, or that of one which does"
            yield finding_at(names[name], f"capture.{name}", cause, "Begin the chain with an expression of its own")


def _ordered(captures: Mapping[str, Capture]) -> list[str]:
    """Return the names of the captures in an order in which each follows those that it needs; the others are left."""
    done: list[str] = []
    left = dict(captures)
    while ready := [name for name, each in left.items() if all(needed in done for needed in each.needs)]:
        done += ready
        left = {name: each for name, each in left.items() if name not in ready}
    return done


def _references(node: Node) -> Iterator[Scalar]:
    """Yield the values that NMState reads as references: each text with a brace."""
    if isinstance(node, Scalar):
        if "{" in node.text or "}" in node.text:
            yield node
        return
    for item in node.items:
        yield from _references(item)
    for _, value in node.entries:
        yield from _references(value)


def _reference(scalar: Scalar, names: frozenset[str]) -> Iterator[Finding]:
    try:
        _, path, _ = _parts(scalar)
    except CaptureWrong as error:
        yield finding_at(scalar, "", f"{shown(scalar.text)}: {error}", error.remedy)
        return
    if path[1] not in names:
        cause = f"{shown(scalar.text)}: there is no capture {shown(path[1])!r}"
        yield finding_at(scalar, "", cause, "Write it below `capture:`, or correct the name")


def _parts(scalar: Scalar) -> tuple[str, list[str], str]:
    """Return the text in front of a reference, its path, and the text behind it. Raises CaptureWrong."""
    found = _REFERENCE.fullmatch(scalar.text.strip())
    path = found["path"].split(".") if found else []
    if found is None or len(path) < 3 or path[0] != NAME or "" in path:
        raise CaptureWrong("not one reference", 'Write one, as in "{{ capture.NAME.interfaces.0.name }}"')
    around = [*found["before"].split(), *found["after"].split()]
    if any("." in word[1:] for word in around) or len(around) > 2:
        raise CaptureWrong("NMState allows no dots and blanks beside a reference", "Leave them out")
    return found["before"].strip(), path, found["after"].strip()


def _with_holes(node: Block) -> Block:
    """Return the template with nothing at the places of references: what will be there is not known."""
    return Block(
        node.line,
        node.column,
        tuple((key, _hole(value)) for key, value in node.entries),
        tuple(map(_hole, node.items)),
        node.is_list,
        node.doubled,
    )


def _hole(node: Node) -> Node:
    if isinstance(node, Block):
        return _with_holes(node)
    return Scalar("", node.line, node.column) if any(each in node.text for each in "{}") else node


# To which document does a policy lead?


@frozen
class Filled:
    """The whole document, and the numbers of those interfaces that a capture gave as they are (None: all of them).

    *looks*: the policy has captures.
    """

    document: Mapping[str, Any]
    whole: frozenset[int] | None
    looks: bool


def filled(name: str, document: Block, network: Mapping[str, Any]) -> Filled:
    """Return the document that the policy *document*, of the file *name*, leads to on *network*.

    Raises NodeFileInvalid that names the capture, or the place, which finds nothing.
    """
    captures, _ = _captures(document)
    places = {key.text: value for key, value in _section(document).entries if isinstance(value, Scalar)}
    known: dict[str, Mapping[str, Any]] = {}
    for each in _ordered(captures):
        try:
            known[each] = find(captures[each], network, known)
        except CaptureWrong as error:
            raise refusal(name, [_nothing(places[each], f"capture.{each}", error)]) from None
    desired = template(document)
    if desired is None:
        raise NodeFileInvalid(f"{name} has no `desiredState`", remedy="Write it")
    return Filled(_Filling(name, known).of(desired), _given_whole(desired.get("interfaces")), bool(known))


def _given_whole(links: Node | None) -> frozenset[int] | None:
    if isinstance(links, Scalar):
        return None
    return frozenset(number for number, each in enumerate(links.items if links else ()) if isinstance(each, Scalar))


def _section(document: Block) -> Block:
    section = document.get("capture")
    return section if isinstance(section, Block) else Block(0, 0)


def _nothing(scalar: Scalar, where: str, error: CaptureWrong) -> Finding:
    return finding_at(scalar, where, str(error), error.remedy, shown(scalar.text))


class _Filling:
    """Fills one template. What captures give is counted: a template may repeat a large one as often as it likes."""

    def __init__(self, name: str, known: Mapping[str, Mapping[str, Any]]) -> None:
        self._name = name
        self._known = known
        self._size = 0

    def of(self, node: Node) -> Any:  # noqa: ANN401  (JSON)
        if isinstance(node, Block) and not node.is_list:
            return {key.text: self.of(value) for key, value in node.entries}
        if isinstance(node, Block):
            return [self.of(item) for item in node.items]
        if "{" not in node.text:
            return json_values(node)
        try:
            return self._reference(node)
        except CaptureWrong as error:
            raise refusal(self._name, [_nothing(node, "", error)]) from None

    def _reference(self, scalar: Scalar) -> Any:  # noqa: ANN401
        before, path, after = _parts(scalar)
        value = at(self._known.get(path[1], {}), path[2:])
        self._size += len(json.dumps(value))
        if self._size > MOST_BYTES:
            raise CaptureWrong(f"the document would be larger than {MOST_BYTES >> 10} KiB", "Capture less")
        if not (before or after):
            return value
        if not isinstance(value, str):
            raise CaptureWrong("a text stands beside what is no text", "Remove the text beside the reference")
        return "".join([*before.split(), value, *after.split()])


def resolved(file: NodeFile, made: Filled, differs: Mapping[str, Any]) -> NodeFile:
    """Return the node file with the document *made* of the policy *file*; *differs* is what the network has otherwise.

    An interface that a capture copied unchanged asks only for values that differ; its other values may change later.
    An interface with a lease does not ask for the addresses of the lease; without a lease, it asks for its addresses.
    """
    links: list[Any] = []
    changed = {(each.get("name"), each.get("type")): each for each in differs.get("interfaces") or ()}
    for number, link in enumerate(made.document.get("interfaces") or ()):
        is_whole = isinstance(link, Mapping) and (made.whole is None or number in made.whole)
        links.append(_only_changed(link, changed) if is_whole else _without_leases(link))
    document = {**made.document, **({"interfaces": links} if "interfaces" in made.document else {})}
    text = f"{_HEADING} {file.name}, resolved on this node ({file.digest})\n{json.dumps(document, indent=1)}\n"
    return NodeFile.of(file.name, text, policy=file.text)


def differing(document: Mapping[str, Any], network: Mapping[str, Any]) -> dict[str, Any]:
    """Return the interfaces of *document* with what *network* has otherwise, as `resolved` takes it.

    libnmstate says it better, if there is one: each value of a section counts here, not each value below it.
    """
    has = {(each.get("name"), each.get("type")): each for each in network.get("interfaces") or ()}
    links = [each for each in document.get("interfaces") or () if isinstance(each, Mapping)]
    named = [each for each in links if isinstance(each.get("name"), str) and isinstance(each.get("type"), str)]
    changed = [(link, has.get((link["name"], link["type"]), {})) for link in named]
    return {"interfaces": [{**_identity(link), **_other_values(link, now)} for link, now in changed]}


def _other_values(link: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in link.items() if now.get(key) != value}


def _identity(link: Mapping[str, Any]) -> dict[str, Any]:
    return {key: link[key] for key in ("name", "type", "state") if key in link}


def _only_changed(link: Mapping[str, Any], changed: Mapping[tuple[Any, Any], Mapping[str, Any]]) -> Mapping[str, Any]:
    return {**_identity(link), **changed.get((link.get("name"), link.get("type")), {})}


def _without_leases(link: Any) -> Any:  # noqa: ANN401
    if not isinstance(link, Mapping):
        return link
    return {key: _ip(value) if key in ("ipv4", "ipv6") else value for key, value in link.items()}


def _ip(section: Any) -> Any:  # noqa: ANN401
    if not isinstance(section, Mapping) or not isinstance(section.get("address"), list):
        return section
    is_leased = bool(section.get("dhcp") or section.get("autoconf"))
    left = [each for each in section["address"] if not (is_leased and set(_LEASED) & set(each))]
    addresses = [{key: value for key, value in each.items() if key not in _LEASED} for each in left]
    others = {key: value for key, value in section.items() if key != "address"}
    return {**others, "address": addresses} if addresses or not is_leased else others


# Which documents did policies lead to on this node?

VERSION = 1
MOST_KEPT = 3
_HEADING = "# NMState policy"


def is_of(text: str, digest: str) -> bool:
    """Return whether *text* is a whole document that the policy with this *digest* led to."""
    first, _, document = text.partition("\n")
    if not (first.startswith(_HEADING) and first.endswith(f" ({digest})")):
        return False
    try:
        return isinstance(json.loads(document), dict)
    except (ValueError, RecursionError):
        return False


def kept(found: Mapping[str, str], digest: str, text: str) -> dict[str, str]:
    """Return digest of a policy → document, with this one as the newest, and without the oldest."""
    newest = {**{each: one for each, one in found.items() if each != digest}, digest: text}
    return dict(list(newest.items())[-MOST_KEPT:])


def render(found: Mapping[str, str]) -> bytes:
    """Return the record as it is stored."""
    return json.dumps({"version": VERSION, "resolved": found}).encode() + b"\n"


def parse_record(content: bytes) -> dict[str, str]:
    """Return the record from its bytes. Raises ValueError."""
    from nodenet.core.record_version import fields  # noqa: PLC0415 - most nodes have no policy

    found = fields(content, VERSION).get("resolved")
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ValueError("not a record: a value has another type")
    if not all(is_of(text, digest) for digest, text in found.items()):
        raise ValueError("not a record: a document is damaged, or belongs to another policy")
    return found
