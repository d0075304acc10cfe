"""Is every key of a node file one of NMState's, and is its value of the right kind?

libnmstate stops at the first mistake and reports neither its line nor which key was probably meant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from nodenet.core.node_file import schema
from nodenet.core.node_file.finding import Finding, at, shown
from nodenet.core.node_file.secret import is_secret
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, typed

NEAR = 0.6
"""difflib's ratio from which on a key is offered as what was meant."""
_WHOLE = re.compile(r"[-+]?(?:[0-9]+|0x[0-9a-fA-F]+)")
_FLAGS = frozenset({"1", "true", "yes", "on", "y", "0", "false", "no", "off", "n"})
_STATE = frozenset({"interfaces", "routes", "dns-resolver"})
_MANIFEST = frozenset({"apiVersion", "kind", "spec"})


def wrong_keys(document: Block) -> Iterator[Finding]:
    """Yield what is wrong with keys and the kinds of their values."""
    if special := _not_a_state(document):
        yield special
        return
    yield from _doubled(document, "")
    yield from (replace(each, by_table=True) for each in _section(document, schema.STATE, "", quoted=False))


def _doubled(node: Node, path: str) -> Iterator[Finding]:
    """Yield the keys that one mapping has twice."""
    if isinstance(node, Scalar):
        return
    for key, first in node.doubled:
        where = f"{path}.{_named(key.text)}".lstrip(".")
        cause = f'found duplicate key "{shown(key.text)}", first in line {first}'
        remedy = "Keep one of the two; a later key would silently replace the earlier one"
        yield Finding(cause, remedy, key.line, key.column, where, names_its_key=True)
    for number, item in enumerate(node.items):
        yield from _doubled(item, f"{path}[{number}]")
    for key, value in node.entries:
        yield from _doubled(value, f"{path}.{_named(key.text)}".lstrip("."))


def _not_a_state(document: Block) -> Finding | None:
    """Return the finding for a document that is of another kind altogether."""
    names = {key.text for key, _ in document.entries}
    if names >= {"apiVersion", "kind"} or "spec" in names & _MANIFEST:
        first = document.entries[0][0]
        return at(
            first,
            first.text,
            "this is a Kubernetes manifest, not an NMState document",
            "Put only the part below `spec.desiredState` into the file, moved to the left margin",
        )
    if "network" in names and not names & _STATE:
        return at(
            document.entries[0][0],
            "network",
            "this is a netplan or cloud-init network configuration, not an NMState document",
            "Write it as an NMState document: `nodenetctl day-one from-host` prints that of a running host",
        )
    return None


def _section(block: Block, name: str, path: str, *, quoted: bool) -> Iterator[Finding]:
    keys = schema.section(name)
    if name == schema.INTERFACE and isinstance(state := block.get("state"), Scalar) and state.text == "absent":
        return  # libnmstate takes whatever the interface had
    for key, value in block.entries:
        where = f"{path}.{_named(key.text)}".lstrip(".")
        if (kind := keys.get(key.text)) is None:
            yield _unknown(key, where, name)
        else:
            yield from _value(value, kind, where, quoted=quoted or name == schema.INTERFACE)


def _value(node: Node, kind: str, path: str, *, quoted: bool) -> Iterator[Finding]:
    """Yield what is wrong with a value; *quoted*: below an interface a string that looks like a number needs quotes."""
    if kind == "any" or (isinstance(node, Scalar) and node.plain and typed(node.text) is None):
        return
    if kind.startswith("["):
        yield from _list(node, kind[1:-1], path, quoted=quoted)
    elif kind.startswith("@"):
        if isinstance(node, Block) and not node.is_list:
            yield from _section(node, kind[1:], path, quoted=quoted)
        else:
            yield _wrong(node, path, "a mapping was expected", "Write its keys below it, each in a line, indented")
    elif kind.startswith("="):
        yield from _choice(node, kind[1:].split(","), path)
    elif not isinstance(node, Scalar):
        yield _wrong(node, path, "a single value was expected", "Write the value in the line of the key")
    elif problem := _SCALARS[kind](node, quoted):
        yield _wrong(node, path, *problem)


def _list(node: Node, kind: str, path: str, *, quoted: bool) -> Iterator[Finding]:
    if not (isinstance(node, Block) and node.is_list):
        yield _wrong(node, path, "a list was expected", "Write each entry in a line of its own that begins with `- `")
        return
    for number, item in enumerate(node.items):
        yield from _value(item, kind, f"{path}[{number}]", quoted=quoted)


def _choice(node: Node, choices: list[str], path: str) -> Iterator[Finding]:
    if isinstance(node, Scalar) and node.text in choices:
        return
    near = difflib.get_close_matches(node.text[:40].lower(), choices, n=1) if isinstance(node, Scalar) else []
    remedy = f"Did you mean `{near[0]}`?" if near else f"Write one of: {', '.join(choices)}"
    yield _wrong(node, path, "not a value that NMState knows", remedy)


def _wrong(node: Node, path: str, cause: str, remedy: str) -> Finding:
    key = re.split(r"\.|\[\d+\]", path)
    value = shown(node.text) if isinstance(node, Scalar) and not any(map(is_secret, key)) else None
    return at(node, path, cause, remedy, value)


def _text(node: Scalar, quoted: bool) -> tuple[str, str] | None:  # noqa: FBT001  (one of a table of functions)
    if quoted and node.plain and not isinstance(typed(node.text), str):
        return "a string was expected, and YAML reads a number or a boolean", "Write the value in quotes"
    return None


def _flag(node: Scalar, _: bool) -> tuple[str, str] | None:  # noqa: FBT001
    value = typed(node.text) if node.plain else node.text
    if isinstance(value, bool) or str(value).lower() in _FLAGS:
        return None
    return "true or false was expected", "Write true or false"


def _bool(node: Scalar, _: bool) -> tuple[str, str] | None:  # noqa: FBT001
    if node.plain and isinstance(typed(node.text), bool):
        return None
    return "true or false was expected", "Write true or false, without quotes"


def _int(node: Scalar, _: bool) -> tuple[str, str] | None:  # noqa: FBT001
    if _WHOLE.fullmatch(node.text):
        return None
    return "a whole number was expected", "Write a number without unit, fraction or other characters"


_SCALARS = {"text": _text, "flag": _flag, "bool": _bool, "int": _int}


def _unknown(key: Scalar, path: str, name: str) -> Finding:
    """Return the finding for a key that NMState does not have there; its value may be a secret under a mistyped key."""
    finding = at(key, path, *_meant(key.text, name))
    return Finding(finding.cause, finding.remedy, key.line, key.column, path)


def _meant(key: str, name: str) -> tuple[str, str]:
    keys = schema.section(name)
    if key == "<<":
        return "NMState does not know merge keys", "Write the keys themselves in the place of `<<`"
    word = key[: max(map(len, keys)) * 2]
    near = difflib.get_close_matches(word.lower().replace("_", "-"), list(keys), n=3, cutoff=NEAR) or [
        known for known in keys if known.replace("_", "-") == word.lower().replace("_", "-")
    ]
    if near:
        return "NMState has no such key here", f"Did you mean {' or '.join(f'`{each}`' for each in near)}?"
    if elsewhere := [each for each in schema.places().get(key, ()) if each != schema.STATE]:
        return "NMState has no such key here", f"It belongs into {_section_name(elsewhere[0])}: check the indentation"
    if key in schema.section(schema.STATE):
        return "NMState has no such key here", "It belongs at the left margin: check the indentation"
    return "NMState has no such key here", f"Remove it; the keys here are: {', '.join(keys)}"


def _section_name(name: str) -> str:
    return "an entry of `interfaces`" if name == schema.INTERFACE else f"`{name}`"


def _named(key: str) -> str:
    return shown(key) if re.fullmatch(r"[\w.<-]+", key) else f"[{shown(key)!r}]"
