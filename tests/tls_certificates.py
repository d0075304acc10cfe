"""Certificates that are valid, and others that have expired, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def certificate(directory: Path, name: str, *, expired: bool, signed: tuple[str | Path, ...] = ()) -> tuple[Path, Path]:
    """Make a certificate for *name* and return it with its key."""
    made, key = directory / f"{name}.crt", directory / f"{name}.key"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", f"/CN={name}"]
    openssl(*words, "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", made, "-days", "2", *signed)
    if expired:
        request, copied = made.with_suffix(".csr"), ("-copy_extensions", "copyall")
        openssl("x509", "-in", made, "-x509toreq", "-signkey", key, "-out", request, *copied)
        signer = signed or ("-signkey", key)
        openssl("x509", "-req", "-in", request, "-out", made, "-days", "-1", "-set_serial", "7", *copied, *signer)
    return made, key


def end_of(made: Path) -> str:
    """Return when a certificate ends, as openssl prints it."""
    words = ["openssl", "x509", "-in", str(made), "-noout", "-enddate"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip().removeprefix("notAfter=")
