"""Start dbus-broker outside of systemd: PROGRAMS CONFIG SOCKET. Run it in a mount namespace of its own.

The launcher wants a journal to log to, and its broker in /usr/bin; both are of this mount namespace alone.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Become the launcher."""
    programs, config, path = sys.argv[1:]
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    Path("/run/systemd").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/systemd"], check=True)
    Path("/run/systemd/journal").mkdir()
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind("/run/systemd/journal/socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    Path(path).chmod(0o666)
    listener.listen(128)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={programs}:/usr/bin", "/usr/bin"], check=True)
    if os.fork() == 0:  # the journal: the broker waits for one that does not read
        while True:
            log.recv(65536)
    os.dup2(listener.fileno(), 3)
    os.environ |= {
        "LISTEN_FDS": "1",
        "LISTEN_PID": str(os.getpid()),
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={path}",
    }
    os.execv("/usr/bin/dbus-broker-launch", ["dbus-broker-launch", "--scope", "system", "--config-file", config])  # noqa: S606


if __name__ == "__main__":
    main()
