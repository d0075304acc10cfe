"""Why is the certificate of an API server refused, and since when has it, or its CA, expired?"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime
from typing import Any

from nodenet.core.hosted_services.health import valid_until

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
