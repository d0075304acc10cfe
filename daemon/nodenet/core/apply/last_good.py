"""Which node file did this node work with last?

It is kept whole, because the file in the directory of node files may be another one by now.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from nodenet.core.node_file.find import NodeFile, is_of_cluster
from nodenet.core.record_version import fields

VERSION = 1


@dataclass(frozen=True, slots=True)
class LastGood:
    """The last known good node file: the *name* and *text* that it had, for which host, and since when (Unix time)."""

    name: str
    text: str
    digest: str
    hostname: str | None
    since: float

    @property
    def file(self) -> NodeFile:
        """The file, as if it were read from the directory."""
        return NodeFile(f"the last known good {self.name}", self.text, self.digest)


def render(good: LastGood) -> bytes:
    """Return the record as it is stored."""
    return json.dumps({"version": VERSION, **asdict(good)}, indent=1).encode() + b"\n"


def parse(content: bytes, hostname: str | None) -> LastGood:
    """Return the record from its bytes. Raises ValueError where it is damaged or belongs to another host.

    *hostname* is None while the node has no name. The file of the cluster is the same for every host, so it is used
    then too.
    """
    found = fields(content, VERSION)
    try:
        good = LastGood(**found)
        digest = hashlib.sha256(good.text.encode()).hexdigest()
    except (TypeError, AttributeError, UnicodeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    if digest != good.digest:
        raise ValueError("its text is not the one that its SHA-256 was made of")
    unnamed = None in (good.hostname, hostname) and is_of_cluster(good.name)
    if good.hostname != hostname and not unnamed:
        this = f"this one is {hostname}" if hostname else "this one has no name yet"
        raise ValueError(f"it belongs to the host {good.hostname}, and {this}")
    return good
