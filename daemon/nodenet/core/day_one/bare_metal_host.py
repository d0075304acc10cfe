"""How does a node file reach a host that is added later? As a Secret that its BareMetalHost names."""

from __future__ import annotations

import base64
import re
from pathlib import PurePosixPath

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid, yaml_word
from nodenet.core.day_one.yaml_writing import Spot, newline_of, root
from nodenet.core.value import frozen

SUFFIX = "-network-config-secret"
NAMESPACE = "openshift-machine-api"
KEY = "nmstate"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
LONGEST_NAME = 253 - len(SUFFIX)


def secret_name(host: str) -> str:
    """Return the name of the Secret of *host*. Raises ArtefactInvalid unless it is a name of Kubernetes (RFC 1123)."""
    if len(host) > LONGEST_NAME or not _NAME.fullmatch(host):
        raise ArtefactInvalid(
            f"{host!a} is not a valid name of a BareMetalHost: lower-case letters, digits, '-' and '.' only, "
            f"at most {LONGEST_NAME} characters"
        )
    return f"{host}{SUFFIX}"


def secret(host: str, content: bytes) -> str:
    """Return the Secret as YAML, the same bytes for the same node file. Raises ArtefactInvalid."""
    return (
        "apiVersion: v1\n"
        "kind: Secret\n"
        "metadata:\n"
        f"  name: {yaml_word(secret_name(host))}\n"
        f"  namespace: {NAMESPACE}\n"
        "type: Opaque\n"
        "data:\n"
        f'  {KEY}: "{base64.b64encode(content).decode()}"\n'
    )


def host_patch(host: str) -> str:
    """Return the fields of the BareMetalHost to be merged into it, as YAML. Raises ArtefactInvalid."""
    return (
        "apiVersion: metal3.io/v1alpha1\n"
        "kind: BareMetalHost\n"
        "metadata:\n"
        f"  name: {yaml_word(host)}\n"
        f"  namespace: {NAMESPACE}\n"
        "spec:\n"
        f"  preprovisioningNetworkDataName: {yaml_word(secret_name(host))}\n"
    )


def node_files_in(text: str) -> dict[PurePosixPath, bytes]:
    """Return the node files of the Secrets among the documents *text*, as HOST.yml. Raises ArtefactInvalid."""
    found: dict[PurePosixPath, bytes] = {}
    for _, document in reading.documents(text):
        secret = reading.read("it", document)
        if not isinstance(secret, dict) or secret.get("kind") != "Secret":
            continue
        metadata = secret.get("metadata")
        name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        host = name.removesuffix(SUFFIX)
        if not _NAME.fullmatch(host):
            raise ArtefactInvalid(f"{name!a} is not the name of a Secret")
        path = PurePosixPath(f"{host}.yml")
        if path in found:
            raise ArtefactInvalid(f"the Secret {name} is there twice")
        found[path] = content_in(secret)
    if not found:
        raise ArtefactInvalid("there is no Secret")
    return found


def content_in(found: object) -> bytes:
    """Return the node file of a Secret, as YAML values, from ``data`` or ``stringData``. Raises ArtefactInvalid."""
    if not isinstance(found, dict) or found.get("kind") != "Secret":
        raise ArtefactInvalid("$.kind is not Secret")
    data, text = found.get("data"), found.get("stringData")
    if isinstance(text, dict) and isinstance(text.get(KEY), str):
        return str(text[KEY]).encode()
    if not isinstance(data, dict) or not isinstance(data.get(KEY), str):
        raise ArtefactInvalid(f"$.data.{KEY} is missing")
    try:
        return base64.b64decode("".join(data[KEY].split()), validate=True)
    except ValueError as error:
        raise ArtefactInvalid(f"$.data.{KEY} is not base64: {error}") from None


# How does a BareMetalHost get the name of its Secret? In the text of its manifest, where every other byte stays.


FIELD = "preprovisioningNetworkDataName"
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
    present = spec.value(FIELD)
    if present is not None:
        if spec.text(FIELD) == secret:
            return text
        raise ArtefactInvalid(f"line {each.line + present.line}: {host} names another Secret: remove `{FIELD}`")
    position = each.start + int(spec.node.value[0][0].start_mark.index) - spec.key_column
    made = f"{text[:position]}{' ' * spec.key_column}{FIELD}: {yaml_word(secret)}{newline_of(text)}{text[position:]}"
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
            if each["spec"].pop(FIELD, None) != secret:
                raise ArtefactInvalid(f"`{FIELD}` cannot be inserted into {host}")
            break
    if old != new:
        raise ArtefactInvalid(f"`{FIELD}` cannot be inserted into {host} without changing more: check the indentation")
