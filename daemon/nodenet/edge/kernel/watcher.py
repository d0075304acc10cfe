"""When do the kernel's links, addresses or routes change? This program reports it, in a separate process.

Importing pyroute2 takes 10 MB for as long as a process runs, and a tenth of a second in the middle of a boot; a child
process keeps this cost away from the daemon, and ends with the wait for which it was started. It writes a line when it
listens and one after each change, and exits when its standard input is closed.

Run as a script: it must not import the daemon.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time
from contextlib import closing

SETTLE_SECONDS = 0.05
"""How long one change may be followed by more before it is reported: a link coming up is a dozen messages."""
RECEIVE_BYTES = 65_536
CHANGED = b"\n"


def watch(orders: int, answers: int) -> None:
    """Write to *answers* after changes until *orders* ends. Raises OSError.

    Events are discarded undecoded: the daemon reads the present state, so that events in large numbers, or events that
    the kernel could not queue (ENOBUFS), do no harm.
    """
    # IPRSocket and not AsyncIPRoute: that one decodes every message and queues without limit while a routing daemon
    # loads its table; this one is the same in pyroute2 0.8, which some distributions have.
    from pyroute2 import IPRSocket  # noqa: PLC0415 - found on the path that main gets
    from pyroute2.netlink import rtnl  # noqa: PLC0415

    groups = rtnl.RTMGRP_LINK | rtnl.RTMGRP_IPV4_IFADDR | rtnl.RTMGRP_IPV6_IFADDR
    groups |= rtnl.RTMGRP_IPV4_ROUTE | rtnl.RTMGRP_IPV6_ROUTE
    with closing(IPRSocket()) as kernel:
        kernel.bind(groups=groups)
        events = kernel.fileno()
        os.set_blocking(events, False)
        os.write(answers, CHANGED)
        while orders not in select.select([orders, events], [], [])[0]:
            time.sleep(SETTLE_SECONDS)
            discard(events)
            os.write(answers, CHANGED)


def discard(events: int) -> None:
    """Empty the socket; what comes while that is done may be left for the next time."""
    until = time.monotonic() + SETTLE_SECONDS
    try:
        while time.monotonic() < until:
            os.read(events, RECEIVE_BYTES)
    except BlockingIOError:
        pass
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise


def main() -> int:
    """Serve until stdin ends. The parent's import path is the first argument."""
    # systemd sends it to each process of a unit: the daemon ends first, and with it the input of this one.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.path[:] = sys.argv[1].split(os.pathsep)
    try:
        watch(0, 1)
    except BrokenPipeError:
        pass  # the daemon has ended
    except (ImportError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
