"""Does a server answer an HTTP request, and by TLS with a certificate that the cluster's CA signed?

One connection a check, as a client makes it. A certificate is always verified.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from pathlib import Path

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.health import Answer, Distrust, Result, Target
from nodenet.edge.kubernetes import credentials
from nodenet.edge.kubernetes.credentials import expired_ca, refusal

_LINE_BYTES = 1024


class HttpChecks:
    """Checks, with the CA that is on the disk now."""

    def __init__(self) -> None:
        """Read no CA yet."""
        self._contexts: dict[tuple[str, float], ssl.SSLContext] = {}

    async def check(self, target: Target, seconds: float) -> Result:
        """Return the result of one request; never raises for what the server does."""
        try:
            context = self._context(target.ca_file) if target.ca_file else None
        except OSError as error:
            problem = f"the CA {target.ca_file} cannot be used: {error.strerror or error}"
            return Result(Answer.DEAD, problem=problem, distrust=Distrust.CA)
        connected = False
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await _connected(target, context)
                connected = True
                with contextlib.closing(writer):
                    return await _asked(target, reader, writer)
        except TimeoutError:
            return Result(Answer.SLOW if connected or context else Answer.DEAD, problem=f"no answer in {seconds:g} s")
        except ssl.SSLCertVerificationError as error:
            if context and (date := expired_ca(context)):
                problem = f"the CA {target.ca_file} has expired on {date}"
                return Result(Answer.DEAD, problem=problem, distrust=Distrust.CA)
            problem = await refusal(error, target.host, target.port, target.server_name, seconds)
            return Result(Answer.DEAD, problem=problem, distrust=Distrust.CERTIFICATE)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            return Result(Answer.DEAD, problem=str(getattr(error, "strerror", None) or error) or type(error).__name__)

    def _context(self, ca_file: str) -> ssl.SSLContext:
        """Return the TLS context of a CA file, read again when the file changed. Raises OSError."""
        key = (ca_file, Path(ca_file).stat().st_mtime)
        if key not in self._contexts:
            made = ssl.create_default_context(cafile=ca_file)
            # Clusters have CAs without the extensions that Python 3.13 asks for beyond what a chain of trust needs.
            made.verify_flags &= ~ssl.VERIFY_X509_STRICT
            self._contexts = {key: made}
        return self._contexts[key]


async def _connected(
    target: Target, context: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if target.unix_socket:
        return await asyncio.open_unix_connection(target.unix_socket, limit=_LINE_BYTES)
    name = target.server_name if context else None
    if target.mark:
        line = await _marked(target)
        return await asyncio.open_connection(sock=line, ssl=context, server_hostname=name, limit=_LINE_BYTES)
    return await asyncio.open_connection(target.host, target.port, ssl=context, server_hostname=name, limit=_LINE_BYTES)


async def _marked(target: Target) -> socket.socket:
    """Return a connection whose packets have the target's mark. Raises OSError."""
    family = socket.AF_INET6 if ":" in target.host else socket.AF_INET
    line = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, target.mark)
        await asyncio.get_running_loop().sock_connect(line, (target.host, target.port))
    except BaseException:
        line.close()
        raise
    return line


async def _asked(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Result:
    host = target.server_name or target.host
    writer.write(f"GET {target.path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("ascii"))
    await writer.drain()
    words = (await reader.readuntil(b"\n")).split()
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else None
    return Result(Answer.GOOD if status == 200 else Answer.DEAD, status, "" if status == 200 else f"status {status}")


# Which CA verifies the API servers: that of the settings, or that of the kubeconfig? As it is on the disk now.

MOST_BYTES = 1 << 20
REMEDY = "Correct the file, or set `[hosted] ca_file`"


class Authority:
    """The CA of the cluster's API."""

    def __init__(self, ca_file: str, kubeconfig: str) -> None:
        """*ca_file* empty: the CA of *kubeconfig*, and of the first usual one where that is empty too."""
        self._ca_file = ca_file
        self._kubeconfig = kubeconfig
        self._read: tuple[object, str] = (None, "")

    def read(self) -> str:
        """Return the certificates in PEM, with their place in a comment. Raises Unavailable for what is no CA."""
        where, content = self._content()
        if self._read[0] == (where, content):
            return self._read[1]
        text = content[:MOST_BYTES].decode("ascii", "replace")
        try:
            ssl.create_default_context(cadata=text or "empty")
        except (ssl.SSLError, ValueError) as error:
            raise Unavailable(f"The CA {where} cannot be used: it is no certificate in PEM", remedy=REMEDY) from error
        self._read = (where, content), f"# from {where!a}\n{text}"
        return self._read[1]

    def _content(self) -> tuple[str, bytes]:
        if not self._ca_file:
            return credentials.authority(self._kubeconfig)
        try:
            with Path(self._ca_file).open("rb") as file:
                return self._ca_file, os.read(file.fileno(), MOST_BYTES)
        except OSError as error:
            reason = error.strerror or error
            raise Unavailable(f"The CA {self._ca_file} cannot be read: {reason}", remedy=REMEDY) from error
