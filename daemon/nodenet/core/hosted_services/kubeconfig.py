"""Which server and which credentials does a kubeconfig file name? (``kubectl config``; as far as a node needs it.)

Certificates and keys are in the file (``…-data``, base64) or in files beside it. A login by another program, by
password or through a proxy is refused: a node's kubeconfig has none of these.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from nodenet.core.hosted_services.resource import doubled
from nodenet.core.ip import IPAddress
from nodenet.core.node_file.yaml_text import Misread, json_values, load
from nodenet.core.value import frozen

MOST_BYTES = 256 * 1024
"""Credentials have some kilobytes."""
UNSUPPORTED = ("exec", "auth-provider", "username", "password")


class KubeconfigInvalid(ValueError):
    """The file cannot be used; the text names the field."""


@frozen
class Material:
    """A certificate, a key or a token: its *content*, or the *file* that has it."""

    content: bytes | None = None
    file: PurePosixPath | None = None


@frozen
class Access:
    """The server and the credentials; *insecure*: its certificate is not verified. *ca* None: the system's own CAs."""

    server: str
    ca: Material | None = None
    certificate: Material | None = None
    key: Material | None = None
    token: Material | None = None
    server_name: str | None = None
    insecure: bool = False


def parse(content: bytes, directory: PurePosixPath) -> Access:
    """Return what the current context says; relative paths are below *directory*. Raises KubeconfigInvalid."""
    if len(content) > MOST_BYTES:
        raise KubeconfigInvalid(f"it has {len(content)} bytes; {MOST_BYTES} are the most")
    document = _mapping(_values(content), "the document")
    name = _text(document, "current-context", "the document")
    context = _named(document, "contexts", "context", name)
    cluster = _named(document, "clusters", "cluster", _text(context, "cluster", "the context"))
    user = _named(document, "users", "user", _text(context, "user", "the context"))
    if found := next((key for key in UNSUPPORTED if user.get(key)), None):
        raise KubeconfigInvalid(f"the user has {found}: use a client certificate or a token")
    if cluster.get("proxy-url"):
        raise KubeconfigInvalid("the cluster has proxy-url: a node reaches its API directly")
    token = user.get("token")
    return Access(
        _server(_text(cluster, "server", "the cluster")),
        _material(cluster, "certificate-authority", directory),
        _material(user, "client-certificate", directory),
        _material(user, "client-key", directory),
        Material(content=token.encode()) if isinstance(token, str) and token else _file(user, "tokenFile", directory),
        _optional(cluster, "tls-server-name"),
        cluster.get("insecure-skip-tls-verify") is True,
    )


def by_vips(access: Access, vips: tuple[IPAddress, ...], port: int, domain: str) -> tuple[Access, ...]:
    """Return other ways to the same API: by its *vips*, where the server is ``api-int`` or ``api`` of *domain*.

    These names may lead to a load balancer that the API has left. None for a server that is not verified: credentials
    are given to no host that only its address stands for.
    """
    parts = urlsplit(access.server)
    host = parts.hostname or ""
    if access.insecure or host not in (f"api-int.{domain}", f"api.{domain}"):
        return ()
    shown = (f"[{vip}]" if vip.version == 6 else str(vip) for vip in vips)
    name = access.server_name or host
    return tuple(replace(access, server=f"https://{one}:{port}{parts.path}", server_name=name) for one in shown)


def _values(content: bytes) -> object:
    """Return the JSON values of the file. An error does not quote the parser, which quotes tokens and keys."""
    try:
        root = load("the file", content.decode())
    except UnicodeDecodeError:
        raise KubeconfigInvalid("it is not UTF-8") from None
    except Misread as error:
        raise KubeconfigInvalid(f"it is not YAML (line {error.line})") from None
    if (twice := doubled(root)) is not None:
        raise KubeconfigInvalid(f"it has a key twice (line {twice.line})")
    return json_values(root)


def warnings(access: Access) -> tuple[str, ...]:
    """Return what is weak: a server that is not verified."""
    weak = "it has insecure-skip-tls-verify: any host can pose as the API. Name its CA instead"
    return (weak,) if access.insecure else ()


def exposed(access: Access, mode: int) -> str | None:
    """Return why a file with this *mode* is refused: other users can read the key or the token in it.

    One that only names the files of key and token holds no secret.
    """
    secret = any(part is not None and part.content is not None for part in (access.key, access.token))
    readable = secret and mode & 0o077
    return f"its mode is {mode & 0o777:o}, and other users can read the credentials" if readable else None


def _server(text: str) -> str:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "https" or not parts.hostname or parts.username or any(ord(letter) < 33 for letter in text):
        shown = "given with a user or password" if "@" in text else ascii(text[:100])
        raise KubeconfigInvalid(f"server is {shown}; expected https://HOST:PORT")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}:{port or 443}{parts.path.rstrip('/')}"


def _material(parent: Mapping[str, object], key: str, directory: PurePosixPath) -> Material | None:
    data = parent.get(f"{key}-data")
    if data is None or data == "":
        return _file(parent, key, directory)
    try:
        return Material(content=base64.b64decode(data if isinstance(data, str) else "?", validate=True))
    except (ValueError, binascii.Error):
        raise KubeconfigInvalid(f"{key}-data is not base64") from None


def _file(parent: Mapping[str, object], key: str, directory: PurePosixPath) -> Material | None:
    path = _optional(parent, key)
    return Material(file=directory / path) if path else None


def _named(document: Mapping[str, object], plural: str, singular: str, name: str) -> Mapping[str, object]:
    listed = document.get(plural)
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return _mapping(entry.get(singular), f"the {singular} {name!a}")
    raise KubeconfigInvalid(f"{plural} has no {singular} {name!a}")


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise KubeconfigInvalid(f"{what} is not a mapping")
    return value


def _text(parent: Mapping[str, object], key: str, what: str) -> str:
    found = _optional(parent, key)
    if not found:
        raise KubeconfigInvalid(f"{what} has no {key}")
    return found


def _optional(parent: Mapping[str, object], key: str) -> str | None:
    found = parent.get(key)
    if found is not None and not isinstance(found, str):
        raise KubeconfigInvalid(f"{key} is not a text")
    return found
