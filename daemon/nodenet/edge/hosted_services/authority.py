"""Which CA verifies the API servers: that of the settings, or that of the kubeconfig? As it is on the disk now."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from nodenet.core.errors import Unavailable
from nodenet.edge.kubernetes import credentials

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
