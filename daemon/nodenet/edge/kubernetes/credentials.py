"""Which kubeconfig does this node have, and which TLS context follows from it?

Certificates and keys are never written to the disk: the TLS library reads those of a kubeconfig from memory files.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.health import valid_until
from nodenet.core.hosted_services.kubeconfig import (
    MOST_BYTES,
    Access,
    KubeconfigInvalid,
    Material,
    exposed,
    parse,
    warnings,
)

# Why is the certificate of an API server refused, and since when has it, or its CA, expired?

_HAS_EXPIRED = 10
"""X509_V_ERR_CERT_HAS_EXPIRED (openssl/x509_vfy.h)."""


def expired_ca(context: ssl.SSLContext) -> str | None:
    """Return when the last of the CAs of *context* expired, None while one of them is valid."""
    dates = [str(found["notAfter"]) for found in context.get_ca_certs() if "notAfter" in found]
    last = max(dates, key=ssl.cert_time_to_seconds, default=None)
    return last if last is not None and ssl.cert_time_to_seconds(last) < datetime.now(UTC).timestamp() else None


def refused(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Return the refusal of a server's certificate that is behind *error*, None where that is not why."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


async def refusal(
    error: ssl.SSLCertVerificationError, host: str, port: int, server_name: str | None, seconds: float
) -> str:
    """Return why the certificate of the server at *host* is refused, with the date on which it has expired."""
    until = await _valid_until(host, port, server_name, seconds) if error.verify_code == _HAS_EXPIRED else None
    if until is not None and until < datetime.now(UTC):
        shown = f"{until:%b} {until.day:2} {until:%H:%M:%S %Y} GMT"  # as OpenSSL writes it
        return f"its certificate has expired on {shown}"
    return f"its certificate is refused: {error.verify_message}"


async def _valid_until(host: str, port: int, server_name: str | None, seconds: float) -> datetime | None:
    """Return the end of the validity of a certificate that is not trusted: the server is sent nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=server_name or "")
        with contextlib.closing(writer):
            line: Any = writer.get_extra_info("ssl_object")
            until = valid_until(line.getpeercert(binary_form=True) or b"")
        return datetime.strptime(until, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (OSError, ValueError):  # TimeoutError and ssl.SSLError are OSErrors
        return None


# Which kubeconfig does this node have, and which TLS context follows from it?

USUAL = ("/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kubeconfig")
"""Where kubelet's credentials usually are, by the tool that made the node."""


def load(path: str, table: str = "kubernetes") -> tuple[Access, tuple[str, ...]]:
    """Return the credentials of the kubeconfig *path* (empty: the first usual one) and its weaknesses.

    *table*: the table of the settings that a remedy names, empty for a program that is started with *path*.

    Raises Unavailable where there is none that can be used: kubelet may write it later.
    """
    found = PurePosixPath(path) if path else next((PurePosixPath(one) for one in USUAL if Path(one).exists()), None)
    if found is None:
        raise Unavailable("No kubeconfig is there yet", remedy=f"Set `[{table}] kubeconfig`, or wait for {USUAL[0]}")
    remedy = f"Correct the file, or set `[{table}] kubeconfig`" if table else "Correct the file"
    try:
        with Path(found).open("rb") as file:
            status, content = os.fstat(file.fileno()), file.read(MOST_BYTES + 1)
        if status.st_uid not in (0, os.geteuid()):
            cause = f"The kubeconfig {found} is not used: it belongs to uid {status.st_uid}"
            raise Unavailable(cause, remedy=f"Run `chown root {found}`")
        access = parse(content, found.parent)
        if problem := exposed(access, status.st_mode & 0o7777):
            raise Unavailable(f"The kubeconfig {found} is not used: {problem}", remedy=f"Run `chmod 600 {found}`")
    except OSError as error:
        raise Unavailable(f"The kubeconfig {found} cannot be read: {error.strerror}", remedy=remedy) from error
    except KubeconfigInvalid as error:
        raise Unavailable(f"The kubeconfig {found} cannot be used: {error}", remedy=remedy) from error
    return access, tuple(f"The kubeconfig {found} is used, though {text}" for text in warnings(access))


def authority(path: str) -> tuple[str, bytes]:
    """Return the place and the content of the CA of the kubeconfig *path*, found as in ``load``. Raises Unavailable."""
    access, _ = load(path)
    where = str(access.ca.file) if access.ca and access.ca.file else "the kubeconfig"
    if access.ca is None:
        raise Unavailable("The kubeconfig names no CA", remedy="Set `[hosted] ca_file`")
    try:
        return where, _content(access.ca)
    except OSError as error:
        raise Unavailable(
            f"The CA {where} cannot be read: {error.strerror}", remedy="Set `[hosted] ca_file`"
        ) from error


def context(access: Access) -> ssl.SSLContext:
    """Return the TLS context of *access*. Raises Unavailable for a certificate or key that cannot be used."""
    made = ssl.create_default_context()
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if access.ca is not None:
            # An empty file would mean the system's own CAs.
            made = ssl.create_default_context(cadata=_content(access.ca).decode("ascii", "replace") or "empty")
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as other clients: a cluster's CA may have few extensions
        if access.insecure:
            made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        if access.certificate is not None:
            with _path(access.certificate) as certificate, _path(access.key or access.certificate) as key:
                made.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise Unavailable(f"The kubeconfig's certificates cannot be used: {error}", remedy="Renew them") from error
    return made


def token(access: Access) -> str | None:
    """Return the bearer token, None without one. Raises Unavailable."""
    if access.token is None:
        return None
    try:
        found = _content(access.token).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise Unavailable(f"The kubeconfig's token cannot be read: {error}", remedy="Renew it") from error
    return found if found.isprintable() else None


def _content(material: Material) -> bytes:
    return material.content if material.content is not None else Path(str(material.file)).read_bytes()


@contextlib.contextmanager
def _path(material: Material) -> Iterator[str]:
    if material.file is not None:
        yield str(material.file)
        return
    memory = os.memfd_create("credentials", os.MFD_CLOEXEC)
    with os.fdopen(memory, "wb") as file:
        file.write(material.content or b"")
        file.flush()
        yield f"/proc/self/fd/{memory}"
