"""Which file belongs to this node, and can it be used?

``<whole host name>``, ``<short host name>``, ``cluster``; ``.yml`` or ``.yaml``. The first that exists
replaces the others; files are never merged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.hostname import stems
from nodenet.core.node_file.host_values import TABLE
from nodenet.core.node_file.yaml_text import Misread
from nodenet.core.value import frozen

CLUSTER = "cluster"
EXTENSIONS = (".yml", ".yaml")
APPLIED = "applied"
"""Compatibility marker beside the node files: a byte copy of the file in force."""


@frozen
class NodeFile:
    """A node file as it was read: its name in the directory, its text, the SHA-256 of its bytes.

    *policy* is the text as it is written, if it is an NMState policy: *text* is the document that it leads to here.
    """

    name: str
    text: str
    digest: str
    policy: str = ""

    @classmethod
    def of(cls, name: str, text: str, *, policy: str = "") -> NodeFile:
        """Return the file of this *text*."""
        return cls(name, text, hashlib.sha256(text.encode()).hexdigest(), policy)

    @property
    def written(self) -> str:
        """The text as it stands in the directory."""
        return self.policy or self.text


@frozen
class Search:
    """The file that was found, if any, and every name that was looked for, in order."""

    found: str | None
    tried: tuple[str, ...]
    others: tuple[str, ...] = ()
    """Files that would be the node's own if the one that was found were not there."""


class Rivals(NodeFileInvalid):
    """Several files claim to be the node file of one host: none of them is taken."""

    def __init__(self, names: Sequence[str], stem: str) -> None:
        """Keep the *names*: the status shows them in the node file's place."""
        self.names = " and ".join(names)
        cause = f"{self.names} both claim to be the node file for {stem!r}"
        super().__init__(cause, remedy="Remove all but one of them")


def is_of_cluster(name: str) -> bool:
    """Return whether *name* is that of the file that every host uses which has none of its own."""
    return any(stem == CLUSTER for stem, _ in _stems_of((name,)))


def has_host_specific(listing: Iterable[str]) -> bool:
    """Return whether the directory holds any file, or row of a table, that only a host name can select."""
    names = tuple(listing)
    return TABLE in names or any(stem != CLUSTER for stem, _ in _stems_of(names))


def search(hostname: str | None, listing: Iterable[str]) -> Search:
    """Return this node's file among the names of *listing*.

    *hostname* is normalised and valid, or None while it is unknown (then only ``cluster`` is looked for).
    Names are compared in lower case. Raises Rivals when two files claim the same stem.
    """
    by_stem: dict[str, list[str]] = {}
    for stem, name in _stems_of(listing):
        by_stem.setdefault(stem, []).append(name)
    tried: list[str] = []
    wanted = (*(stems(hostname) if hostname else ()), CLUSTER)
    for number, stem in enumerate(wanted, 1):
        tried += [stem + extension for extension in EXTENSIONS]
        match sorted(by_stem.get(stem, ())):
            case []:
                continue
            case [name]:
                others = [other for later in wanted[number:] for other in sorted(by_stem.get(later, ()))]
                return Search(name, tuple(tried), tuple(others))
            case names:
                raise Rivals(names, stem)
    return Search(None, tuple(tried))


@lru_cache(maxsize=4)
def read(name: str, content: bytes) -> NodeFile:
    """Return the node file *name* from its bytes. Raises NodeFileInvalid when they are not UTF-8 text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        words = f"not UTF-8 (byte 0x{content[error.start]:02x})"
        raise Misread(name, words, "Save the file as UTF-8", line) from error
    return NodeFile(name, text, hashlib.sha256(content).hexdigest())


def _stems_of(listing: Iterable[str]) -> Iterable[tuple[str, str]]:
    for name in listing:
        stem, dot, extension = name.rpartition(".")
        if stem and not name.startswith(".") and dot + extension in EXTENSIONS:
            yield stem.lower(), name


# Which MACs does a node file name? Read without a YAML parser: a file of the largest size takes that seconds.

_KEY = re.compile(
    r"""^[^#\n]*?\bmac-address["']?\s*:\s*["']?((?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})\b""", re.IGNORECASE | re.MULTILINE
)


def named_macs(text: str) -> frozenset[str]:
    """Return the MACs of links in *text*, in lower case and with colons; comments name none."""
    return frozenset(mac.lower().replace("-", ":") for mac in _KEY.findall(text))
