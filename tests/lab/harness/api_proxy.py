"""How does a test put faults between a client and kube-apiserver?

    proxy = ApiProxy(cluster)
    proxy.rule("status", method="PATCH", path="/status", status=409, times=1)
    proxy.rule("kill-after", method="POST", path="/leases", pid=service.pid)
    proxy.requests(method="POST")

The proxy is at `proxy.url`, on the address of the server with its certificate. Clients come with a bearer token: a
client certificate cannot be passed on.
"""

import contextlib
import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

from harness import host
from harness.kube import PORT, Cluster

PROGRAM = Path(__file__).with_name("api_proxy_program.py")
PROXY_PORT = PORT + 1


class ApiProxy:
    """A proxy in front of a cluster's API; it ends with the cluster's LAN."""

    def __init__(self, cluster: Cluster, port: int = PROXY_PORT) -> None:
        files, address = cluster.directory, str(cluster.lan.gateway4)
        self.url = f"https://{address}:{port}"
        self._orders = files / f"proxy-{port}.sock"
        wanted = {
            "listen": [address, port],
            "upstream": [address, PORT],
            "tls": [str(files / "apiserver.crt"), str(files / "apiserver.key"), str(cluster.server.authority)],
            "orders": str(self._orders),
        }
        cluster.run(f"proxy-{port}", sys.executable, "-I", PROGRAM, json.dumps(wanted))
        host.eventually(self._answers, f"the proxy at {self.url}", timeout=30)

    def rule(self, action: str, **what: Any) -> None:
        """Add a rule. The first rule that takes a request decides what happens to it.

        Actions: `status` (answer *status*), `delay` (*seconds*), `hold` (until `release()`), `kill` (the process *pid*
        before the server has the request), `kill-after` (once the server has answered), `lose` (the answer),
        `gone-event` (a watch that answers 410 in its stream), `garbage`. *method* and *path* (a regular expression)
        name the requests; the first *skip* of these are left alone, then *times* are taken.
        """
        self._order(do="rule", action=action, **what)

    def clear(self) -> None:
        """Remove all rules; requests that are held go on."""
        self._order(do="clear")

    def release(self) -> None:
        """Let the requests go on that are held."""
        self._order(do="release")

    def cut(self) -> None:
        """End all connections, watches as well."""
        self._order(do="cut")

    def close(self) -> None:
        """Refuse connections, as a machine without an API server does."""
        self._order(do="close")

    def open(self) -> None:
        """Accept connections again."""
        self._order(do="open")

    def requests(self, method: str = "", path: str = "", since: int = 0) -> list[dict[str, Any]]:
        """Return what was requested, the oldest first: method, path, status, fault, began, seconds."""
        entries: list[dict[str, Any]] = self._order(do="log")[since:]
        return [entry for entry in entries if method in entry["method"] and re.search(path, entry["path"])]

    def _answers(self) -> bool:
        try:
            self._order(do="release")
        except OSError:
            return False
        return True

    def _order(self, **order: Any) -> Any:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(30)
            line.connect(str(self._orders))
            line.sendall(json.dumps(order).encode())
            line.shutdown(socket.SHUT_WR)
            return json.loads(b"".join(iter(lambda: line.recv(1 << 20), b"")))
