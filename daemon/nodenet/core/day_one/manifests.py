"""What do the installer's manifests, BareMetalHost and install-config, contain of the network?"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from nodenet.core.day_one import reading
from nodenet.core.day_one.reading import ArtefactInvalid, Unusual, quick, yaml_word
from nodenet.core.day_one.yaml_writing import Spot, end_of_block, newline_of, root
from nodenet.core.value import frozen

SUFFIX = "-network-config-secret"
NAMESPACE = "openshift-machine-api"
DATA_KEY = "nmstate"
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
        f'  {DATA_KEY}: "{base64.b64encode(content).decode()}"\n'
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
    if isinstance(text, dict) and isinstance(text.get(DATA_KEY), str):
        return str(text[DATA_KEY]).encode()
    if not isinstance(data, dict) or not isinstance(data.get(DATA_KEY), str):
        raise ArtefactInvalid(f"$.data.{DATA_KEY} is missing")
    try:
        return base64.b64decode("".join(data[DATA_KEY].split()), validate=True)
    except ValueError as error:
        raise ArtefactInvalid(f"$.data.{DATA_KEY} is not base64: {error}") from None


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
    _prove_host(text, made, host, secret)
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


def _prove_host(before: str, after: str, host: str, secret: str) -> None:
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


# How do node files get into install-config: ``platform.baremetal.hosts[].networkConfig``?
#
# The text of a node file is inserted as it is, indented, behind the last line of its host. The result is read again
# before it is returned: nothing but the inserted keys may differ from what was there.

NAME = "install-config"
HOSTS = ("platform", "baremetal", "hosts")
CONFIG_KEY = "networkConfig"


@frozen
class Filled:
    """The new text; *filled* are the hosts that got their node file, *same* those that had it already."""

    text: str
    filled: tuple[str, ...]
    same: tuple[str, ...]
    without_file: tuple[str, ...]


def hosts(text: str) -> tuple[str, ...]:
    """Return the names of the hosts, in order. Raises ArtefactInvalid naming the line."""
    return tuple(name for name, _ in _hosts(text))


def network_configs(text: str) -> dict[str, str]:
    """Return the ``networkConfig`` of each host that has one, as the text of a node file. Raises ArtefactInvalid."""
    found = {}
    for name, spot in _hosts(text):
        present = spot.value(CONFIG_KEY)
        if present is not None:
            found[name] = _node_file(text, name, present)
    return found


def _node_file(text: str, name: str, spot: Spot) -> str:
    """Return a block without its indentation, each of its lines whole."""
    if spot.node.id != "mapping" or spot.is_flow or not spot.node.value:
        raise ArtefactInvalid(f"line {spot.line}: {CONFIG_KEY} of host {name} is not written with a key a line")
    start = text.rfind("\n", 0, int(spot.node.value[0][0].start_mark.index)) + 1
    block = text[start : end_of_block(text, spot)]
    indent = " " * spot.key_column
    made = "".join(line.removeprefix(indent) for line in block.splitlines(keepends=True))
    if _values(made) != _values(text[start : end_of_block(text, spot)]):
        raise ArtefactInvalid(f"line {spot.line}: {CONFIG_KEY} of host {name} has lines left of its keys")
    return made if made.endswith("\n") else made + newline_of(text)


def fill(text: str, node_files: Mapping[str, str]) -> Filled:
    """Return *text* with the node file of each host of *node_files*. Raises ArtefactInvalid naming the line.

    A host that has another ``networkConfig`` already is an error: text that is there is never replaced.
    """
    found = _hosts(text)
    same, inserts = [], []
    for name, spot in found:
        if name not in node_files:
            continue
        present = spot.value(CONFIG_KEY)
        if present is None:
            inserts.append((end_of_block(text, spot), name, spot))
        elif _plain(text[present.node.start_mark.index : present.node.end_mark.index], present) == _values(
            node_files[name]
        ):
            same.append(name)
        else:
            raise ArtefactInvalid(
                f"line {present.line}: host {name} has another {CONFIG_KEY}: remove it, or its node file"
            )
    made = text
    for position, name, spot in sorted(inserts, reverse=True, key=lambda insert: insert[0]):
        made = _inserted(made, position, spot, node_files[name])
    filled = tuple(name for _, name, _ in inserts)
    _prove_config(text, made, {name: node_files[name] for name in filled})
    return Filled(made, filled, tuple(same), tuple(name for name, _ in found if name not in node_files))


def _hosts(text: str) -> list[tuple[str, Spot]]:
    spot = root(text, NAME)
    for key in HOSTS:
        below = spot.value(key)
        if below is None:
            raise ArtefactInvalid(f"{NAME} has no {'.'.join(HOSTS)}: it is not one of a bare-metal cluster")
        spot = below
    found: list[tuple[str, Spot]] = []
    for item in spot.items():
        name = item.text("name")
        if not name:
            raise ArtefactInvalid(f"line {item.line}: {item.path} has no name")
        if item.is_flow:
            raise ArtefactInvalid(f"line {item.line}: host {name} is written in braces: write a key a line")
        if name in dict(found):
            raise ArtefactInvalid(f"line {item.line}: host {name} is there twice")
        found.append((name, item))
    return found


def _inserted(text: str, position: int, spot: Spot, node_file: str) -> str:
    newline = newline_of(text)
    lines = node_file.replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if line.rstrip() not in ("---", "...")]
    while lines and not lines[-1].strip():
        lines.pop()
    indent = " " * (spot.key_column + 2)
    block = [f"{' ' * spot.key_column}{CONFIG_KEY}:", *(f"{indent}{line}" if line else line for line in lines)]
    before = "" if position == 0 or text[position - 1] == "\n" else newline
    return text[:position] + before + newline.join(block) + newline + text[position:]


def _prove_config(before: str, after: str, filled: Mapping[str, str]) -> None:
    """Read both texts: they differ in the inserted keys alone. Raises ArtefactInvalid where they do not."""
    old, new, *files = _alike(before, after, *filled.values())
    wanted = dict(zip(filled, files, strict=True))
    for host in new["platform"]["baremetal"]["hosts"]:
        name = str(host["name"])
        if name in filled and host.pop(CONFIG_KEY, None) != wanted[name]:
            raise ArtefactInvalid(
                f"the node file of host {name} cannot be indented into {NAME}: write it in block style"
            )
    if old != new:
        raise ArtefactInvalid(
            f"the node files cannot be inserted into {NAME} without changing it: check its indentation"
        )


def _alike(*texts: str) -> list[Any]:
    """Return the values of texts, all read by one reader: they differ in the types of rare scalars."""
    try:
        return [reading.values(quick(text)) for text in texts]
    except Unusual:
        return [_values(text) for text in texts]


def _values(text: str) -> Any:  # noqa: ANN401  (a YAML document)
    parser = YAML(typ="safe", pure=True)
    parser.composer.warn_double_anchors = False  # a node file may bring an anchor that is there already
    try:
        return parser.load(text)
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise ArtefactInvalid(f"the result is not YAML: {type(error).__name__}") from None


def _plain(text: str, spot: Spot) -> Any:  # noqa: ANN401  (a YAML document)
    """Return the values of a block that begins at its own column."""
    return _values(" " * int(spot.node.start_mark.column) + text)
