"""What do libnmstate's messages about a document mean, which line do they mean, and what is the remedy?

libnmstate names its own types (`expected struct InterfaceIp with 18 elements`), quotes values as it read them and
names no line. The messages are those of the crate's version in ``schema.VERSION``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator

from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_file.finding import Finding, printable, shown
from nodenet.core.node_file.secret import Secrets, is_secret
from nodenet.core.node_file.values import interfaces, text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar

LONGEST_READ = 4000
"""Characters of a text that are looked at: a verification error has whole states in it."""
MOST_WORDS = 300
"""Characters of a text that has no translation."""
_OF_LINK = re.compile(r'interface "(?P<name>[^"]*)" \(type (?P<type>[^)]*)\): (?P<words>.*)', re.DOTALL)
_PLACED = re.compile(r"(?P<path>[\w.\[\]-]+): (?P<words>.*?)(?: at line \d+ column \d+)?", re.DOTALL)
_CHOICES = re.compile(r"`([^`]*)`")
_DUMP = re.compile(r"\b[A-Z]\w+ \{.*", re.DOTALL)
CHECK = "Correct the node file; what depends on the host is known only when it is applied"
Translation = tuple[str, str]
"""Cause and remedy."""


def translated(words: str) -> Translation:
    """Return cause and remedy of what libnmstate said, without its names of types; an empty remedy where none is known.

    A text of which the meaning is not known is quoted, after who says it.
    """
    words = " ".join(words.split())[:LONGEST_READ]
    if found := _OF_LINK.fullmatch(words):
        cause, remedy = translated(found["words"])
        return shown_words(f"interface {found['name']!r}: {cause}"), remedy
    for pattern, meaning in _MEANINGS:
        if found := pattern.search(words):
            cause, remedy = meaning(found)
            return shown_words(cause), shown_words(remedy)
    return f"libnmstate reports: {shown_words(_DUMP.sub('…', words))}", ""


def shown_words(words: str) -> str:
    """Return a text for a journal: printable, of MOST_WORDS characters at most."""
    return printable(words if len(words) <= MOST_WORDS else words[: MOST_WORDS - 1] + "…")


def finding_of(failure: NmstateFailure, document: Node | None, secrets: Secrets) -> Finding:
    """Return the finding for the mistake in *failure*, at the most exact place that is known."""
    words = " ".join(failure.said.split())
    of_link = _OF_LINK.fullmatch(words)
    of_place = None if of_link else _PLACED.fullmatch(words)
    inner = (of_link or of_place or {"words": words})["words"]
    key = next(iter(_CHOICES.findall(inner)), "")
    node, path = _place(document, of_link["name"] if of_link else "", key)
    cause, remedy = translated(inner)
    value = None
    if isinstance(node, Scalar) and not any(map(is_secret, path.split("."))):
        value = shown(secrets.hidden_in(node.text))
    if not path and of_place:
        path = of_place["path"]
    line, column = (node.line, node.column) if node else (0, 0)
    remedy = remedy or CHECK
    return Finding(secrets.hidden_in(cause), secrets.hidden_in(remedy), line, column, path, value)


def _place(document: Node | None, name: str, key: str) -> tuple[Node | None, str]:
    """Return the node with the key or value *key* of the interface *name*, and its path."""
    start: tuple[Node | None, str] = (document, "")
    if isinstance(document, Block) and name:
        start = next(((link, path) for path, link in interfaces(document) if text(link, "name") == name), start)
    node, path = start
    found = next(_named(node, path, key), None) if node and key else None
    return found or (start if name else (None, ""))


def _named(node: Node, path: str, word: str) -> Iterator[tuple[Node, str]]:
    """Yield the places whose key or value is *word*."""
    if isinstance(node, Scalar):
        if node.text == word:
            yield node, path
        return
    for number, item in enumerate(node.items):
        yield from _named(item, f"{path}[{number}]", word)
    for key, value in node.entries:
        where = f"{path}.{key.text}".lstrip(".")
        if key.text == word:
            yield key, where
        yield from _named(value, where, word)


def _choice(found: re.Match[str]) -> Translation:
    word, *choices = _CHOICES.findall(found[0]) or [""]
    near = difflib.get_close_matches(word[:40].lower(), choices, n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else f"The choices are: {', '.join(choices) or 'none'}"
    return f"{shown(word)!r} is not a value that NMState knows", remedy


def _key(found: re.Match[str]) -> Translation:
    word, *choices = _CHOICES.findall(found[0]) or [""]
    near = difflib.get_close_matches(word[:40].lower(), choices, n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "Remove it, or check its indentation"
    return f"NMState has no key {shown(word)!r} here", remedy


def _fixed(cause: str, remedy: str) -> Callable[[re.Match[str]], Translation]:
    return lambda found: (found.expand(cause), found.expand(remedy))


_MEANINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Translation]], ...] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"unknown field .*", _key),
        (r"unknown variant .*", _choice),
        (r"missing field `([^`]*)`", _fixed(r"`\1` is missing", r"Add the key `\1`")),
        (r"duplicate field `([^`]*)`", _fixed(r"`\1` is there twice", "Keep one of the two")),
        (r"invalid type: .*expected a string", _fixed("a string was expected", "Write the value in quotes")),
        (r"invalid type: .*expected a boolean", _fixed("true or false was expected", "Write true or false")),
        (r"Need to be boolean", _fixed("true or false was expected", "Write true or false")),
        (
            r"invalid digit found|invalid type: .*expected (?:an? )?(?:unsigned |signed )?(?:integer|[ui]\d+)",
            _fixed("a whole number was expected", "Write a number without unit, fraction or other characters"),
        ),
        (
            r"invalid type: .*expected (?:a sequence|sequence)",
            _fixed("a list was expected", "Write each entry in a line of its own that begins with `- `"),
        ),
        (
            r"invalid (?:type|length).*expected (?:a map|struct)",
            _fixed("a mapping was expected", "Write its keys below it, each in a line, indented"),
        ),
        (
            r"number too (?:large|small)|out of range|invalid value: integer",
            _fixed("the number is out of range", "Write a number that the key allows"),
        ),
        (
            r"invalid IP(?:v\d)? ?address syntax|Invalid IP (?:address|network)",
            _fixed("this is not an IP address or subnet", "Write one such as 192.0.2.5, or 192.0.2.0/24 for a subnet"),
        ),
        (r"cannot parse integer from empty", _fixed("the value is empty", "Write a number, or remove the key")),
        (
            r"repetition limit exceeded",
            _fixed("its aliases repeat too much", "Write the values themselves in the place of the aliases"),
        ),
        (
            r"(?:did not find|could not find|while parsing|while scanning|mapping values are not|found character)",
            _fixed("libnmstate reads other YAML than nodenetd here", "Write it in block style, with quotes"),
        ),
        (
            r"(\w+) interface (\S+) does not exists?",
            _fixed(r"this host has no link \2 of that type (\1)", "Correct the name, or wait for the hardware"),
        ),
        (
            r"Controller interface (\S+) is holding unknown port (\S+)",
            _fixed(r"\1 has the port \2, and this host has no such link", "Correct the name of the port"),
        ),
        (
            r"Failed to find (?:mac address of )?interface (\S+) for copy-mac-from of iface (\S+)",
            _fixed(r"\2 takes the MAC address of \1, and this host has no such link", "Correct `copy-mac-from`"),
        ),
        (
            r"CreationFailed\)?: (\S+\.\d+) failed to create resources.*Operation not supported",
            _fixed(
                r"the kernel of this host makes no VLAN, and so no \1: it has no module 8021q",
                "`modprobe 8021q`; install the package with the extra modules of this kernel if there is none",
            ),
        ),
        (
            r"CreationFailed\)?: (\S+) failed to create resources.*Operation not supported",
            _fixed(
                r"the kernel of this host cannot make \1: it has no module for links of that type",
                "Load the module with `modprobe`",
            ),
        ),
        (
            r"next hop interface (\S+) not found",
            _fixed(r"a route leaves by \1, and this host has no such link", "Correct `next-hop-interface`"),
        ),
        (
            r"Verification failure: (\S+?)\.interface\.(ipv[46])\.address desire(?:d)? '.*?', current '\[\]'",
            _fixed(
                r"\1 has none of its \2 addresses after the apply: "
                "NetworkManager does not use one that another host has",
                "Give this node an address of its own; `journalctl -b -u NetworkManager` names a conflict",
            ),
        ),
        (
            r"Verification failure: (\S+?)\.interface\.(\S+) desire(?:d)? '(.*?)', current '(.*?)'",
            _fixed(
                r"after the apply \2 of \1 is \4, and \3 was asked for",
                "Compare the node file with the hardware: names of links, MTU, what the NIC can do",
            ),
        ),
    )
)
