"""How long is a node without its default route, and without its node IP? And how many processes run libnmstate?

Runs on the node until SIGTERM: `outage.py DIRECTORY-OF-NODENET ADDRESS PATH-OF-THE-RESULT`. Every 20 ms it reads the
kernel's addresses and routes over rtnetlink, and the children of nodenetd. What it saw: `route` and `address`, each a
list of gaps as [begin, end] in seconds of CLOCK_REALTIME (a gap that does not end has no second number; what was not
there from the beginning is no gap), and `workers`, their number. It is written when the program is ended.
"""

import json
import signal
import sys
import time
from ipaddress import ip_address
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from nodenet.edge.kernel import netlink

EVERY = 0.02
ADDRESS = ip_address(sys.argv[2])
RESULT = Path(sys.argv[3])
WORKER = b"nmstate/worker.py"


class Gaps:
    """The times in which something was missing that had been there."""

    def __init__(self) -> None:
        """Nothing was there yet."""
        self.found: list[list[float]] = []
        self._seen: float | None = None

    def look(self, now: float, *, there: bool) -> None:
        """Take note of one look: a gap is from the last look that saw it to the first one that sees it again."""
        if there:
            if self.found and len(self.found[-1]) == 1:
                self.found[-1].append(now)
            self._seen = now
        elif self._seen is not None:
            self.found.append([self._seen])
            self._seen = None


def children(pid: str) -> list[str]:
    """Return the child processes of *pid* that run libnmstate."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return [child for child in found if WORKER in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []


def daemon() -> str:
    """Return the process of nodenetd."""
    try:
        return Path("/run/nodenet/lock").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def stop(*_: object) -> None:
    """End the loop."""
    raise SystemExit


def main() -> None:
    """Look until the program is ended."""
    route, address, workers = Gaps(), Gaps(), set()
    try:
        while True:
            now = time.time()
            snapshot = netlink.snapshot()
            defaults = [item for item in snapshot.routes if item.destination.prefixlen == 0]
            route.look(now, there=any(item.destination.version == ADDRESS.version for item in defaults))
            address.look(now, there=any(item.address == ADDRESS for item in snapshot.addresses))
            workers.update(children(daemon()))
            time.sleep(max(0.0, EVERY - (time.time() - now)))
    finally:
        seen = {"route": route.found, "address": address.found, "workers": len(workers)}
        RESULT.write_text(json.dumps(seen), encoding="utf-8")


signal.signal(signal.SIGTERM, stop)
RESULT.with_suffix(".begun").touch()
main()
