"""Which files does an artefact carry, and how is a file written as a data URL? (RFC 2397, RFC 3986 2.1)"""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes

from nodenet.core.value import frozen

TEXT = "data:text/plain;charset=utf-8;base64,"
MOST_BYTES = 1 << 20
"""The most that one node file may have."""


_PLAIN = re.compile(r"[A-Za-z/][\w./@+-]*", re.ASCII)
_BOOLEANS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than a string."""


class ArtefactInvalid(ValueError):
    """An artefact cannot be read; the text names the place and what is expected there."""


@frozen
class CarriedFile:
    """A file for the node: absolute path, whole content, permissions."""

    path: PurePosixPath
    content: bytes
    mode: int = 0o644


def yaml_word(word: str) -> str:
    """Return *word* as every reader of YAML takes it for this string, in quotes where it needs them."""
    return word if _PLAIN.fullmatch(word) and word.lower() not in _BOOLEANS else json.dumps(word, ensure_ascii=False)


def to_data_url(content: bytes) -> str:
    """Return *content* as a data URL on one line, the same for the same bytes."""
    return TEXT + base64.b64encode(content).decode()


def from_data_url(url: object, place: str) -> bytes:
    """Return the bytes of a data URL, base64 or percent-encoded. Raises ArtefactInvalid naming *place*."""
    if not isinstance(url, str) or not url.startswith("data:"):
        raise ArtefactInvalid(f"{place} is no data URL; only files whose content is inside are read")
    head, comma, body = url.partition(",")
    if not comma:
        raise ArtefactInvalid(f"{place} has no comma: a data URL is data:[type][;base64],content")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode("".join(unquote_to_bytes(body).decode("ascii").split()), validate=True)
    except (UnicodeDecodeError, binascii.Error) as error:
        raise ArtefactInvalid(f"{place} is not base64: {error}") from None


def checked_path(path: object, place: str) -> PurePosixPath:
    """Return an absolute path without ``..`` and without control characters. Raises ArtefactInvalid naming *place*."""
    if not isinstance(path, str) or not path.startswith("/") or not path.isprintable():
        raise ArtefactInvalid(f"{place} is not an absolute path")
    found = PurePosixPath(f"/{path.lstrip('/')}")  # "//etc" has another root for it
    if ".." in found.parts or found == PurePosixPath("/"):
        raise ArtefactInvalid(f"{place} leads out of its directory")
    return found
