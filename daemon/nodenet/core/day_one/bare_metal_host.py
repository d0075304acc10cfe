"""How does a node file reach a host that is added later? As a Secret that its BareMetalHost names."""

from __future__ import annotations

import base64
import re
from pathlib import PurePosixPath

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid, yaml_word

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
