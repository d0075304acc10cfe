"""How does a BareMetalHost get the name of its Secret? In the text of its manifest, where every other byte stays."""

from __future__ import annotations

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid, yaml_word
from nodenet.core.day_one.yaml_text import Spot, newline_of, root
from nodenet.core.value import frozen

KEY = "preprovisioningNetworkDataName"
_KIND = "BareMetalHost"


@frozen
class _Document:
    """One document of a stream: its text, and where it begins in the whole."""

    text: str
    start: int
    line: int


def named(text: str, host: str, secret: str) -> str:
    """Return the manifests *text* in which the BareMetalHost *host* names *secret*. Raises ArtefactInvalid.

    A host that names another Secret is an error: what is there is never replaced.
    """
    found = [(each, spot) for each in _documents(text) if (spot := _host(each, host)) is not None]
    if len(found) != 1:
        problem = f"has no {_KIND} {host}" if not found else f"has the {_KIND} {host} {len(found)} times"
        raise ArtefactInvalid(problem)
    each, spot = found[0]
    spec = spot.value("spec")
    if spec is None or spec.node.id != "mapping" or spec.is_flow or not spec.node.value:
        line = each.line + (spec.line if spec is not None else 1)
        raise ArtefactInvalid(f"line {line}: `spec` of {host} is not a mapping with a key a line")
    present = spec.value(KEY)
    if present is not None:
        if spec.text(KEY) == secret:
            return text
        raise ArtefactInvalid(f"line {each.line + present.line}: {host} names another Secret: remove `{KEY}`")
    position = each.start + int(spec.node.value[0][0].start_mark.index) - spec.key_column
    made = f"{text[:position]}{' ' * spec.key_column}{KEY}: {yaml_word(secret)}{newline_of(text)}{text[position:]}"
    _prove(text, made, host, secret)
    return made


def _documents(text: str) -> list[_Document]:
    found: list[_Document] = []
    start, line, body = 0, 0, ""
    position = 0
    for number, each in enumerate(text.splitlines(keepends=True)):
        position += len(each)
        if each.rstrip() in ("---", "..."):
            found.append(_Document(body, start, line))
            start, line, body = position, number + 1, ""
        else:
            body += each
    found.append(_Document(body, start, line))
    return [each for each in found if each.text.strip()]


def _host(document: _Document, host: str) -> Spot | None:
    lines = [line for line in document.text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return None
    spot = root(document.text, f"the document in line {document.line + 1}")
    if spot.node.id != "mapping" or spot.text("kind") != _KIND:
        return None
    metadata = spot.value("metadata")
    return spot if metadata is not None and metadata.text("name") == host else None


def _prove(before: str, after: str, host: str, secret: str) -> None:
    """Read both: they differ in the one key alone. Raises ArtefactInvalid where they do not."""
    old = [reading.read("it", each.text) for each in _documents(before)]
    new = [reading.read("it", each.text) for each in _documents(after)]
    for each in new:
        if isinstance(each, dict) and each.get("kind") == _KIND and each["metadata"]["name"] == host:
            if each["spec"].pop(KEY, None) != secret:
                raise ArtefactInvalid(f"`{KEY}` cannot be inserted into {host}")
            break
    if old != new:
        raise ArtefactInvalid(f"`{KEY}` cannot be inserted into {host} without changing more: check the indentation")
