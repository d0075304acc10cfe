"""Does an HTTPS server answer with a certificate that a CA signed? This program asks it, in a separate process.

OpenSSL costs 5 MB for as long as a process runs, and nodenetd starts without it; a child process has it for the moment
of one probe.

The certificate must be signed by the CA, so that no other server answers in its place. The name in it is not compared:
a target is an address, and the certificate of an API may have DNS names alone.

Run as a script: it must not import the daemon.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time
from contextlib import suppress

ANSWERED, SILENT, NO_CA = 0, 3, 4
"""The exit codes; another one is an error of this program."""
CONNECT_SECONDS = 2.0
"""For one connection: the first packets of a link that has just come up may be lost."""
AGAIN_SECONDS = 0.3
SERVER_ERROR = 500
"""Statuses from here on say that the server does not work (RFC 9110, 15.6): it may be a proxy without its servers."""
LINE_BYTES = 1024


def trusting(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context that trusts this CA alone. Raises OSError."""
    made = ssl.create_default_context(cafile=ca_file)
    made.check_hostname = False
    # Clusters have CAs without the extensions that Python 3.13 asks for beyond what a chain of trust needs.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def status(address: str, port: int, path: str, context: ssl.SSLContext, seconds: float) -> int:
    """Return the status of one request, which may wait for *seconds* at each step.

    Raises OSError, and ValueError for what is no HTTP response.
    """
    host = f"[{address}]" if ":" in address else address
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((address, port), min(CONNECT_SECONDS, seconds)) as line:
        line.settimeout(seconds)
        with context.wrap_socket(line) as server:
            server.sendall(request.encode("ascii"))
            with server.makefile("rb") as answer:
                protocol, found, *_ = answer.readline(LINE_BYTES).split()
    if not protocol.startswith(b"HTTP/") or not found.isdigit():
        raise ValueError("not an HTTP response")
    return int(found)


def main(address: str, port: str, path: str, ca_file: str, seconds: str) -> int:
    """Ask until an answer comes or *seconds* are over; return the exit code."""
    end = time.monotonic() + float(seconds)
    try:
        context = trusting(ca_file)
    except OSError:
        return NO_CA
    while (left := end - time.monotonic()) > 0:
        with suppress(OSError, ValueError):
            if status(address, int(port), path, context, left) < SERVER_ERROR:
                return ANSWERED
        time.sleep(AGAIN_SECONDS)
    return SILENT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
