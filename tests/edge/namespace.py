"""A network namespace of the test's own."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 10


class Namespace:
    """A network namespace of its own; it lives as long as the process that holds it."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        path = Path(f"/proc/{self._holder.pid}/ns/net")
        own = Path("/proc/self/ns/net").stat().st_ino
        while path.stat().st_ino == own:
            time.sleep(0.01)
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, initializer=self._enter)

    def _enter(self) -> None:
        """Move the calling thread, and only it, into the namespace (setns(2))."""
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        assert libc.setns(descriptor, 0x40000000) == 0, os.strerror(ctypes.get_errno())
        os.close(descriptor)

    def call(self, function: Callable[[], T]) -> T:
        """Call *function* inside."""
        return self.start(function).result(PATIENCE_SECONDS * 3)

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Begin to call *function* inside."""
        return self._thread.submit(function)

    def ip(self, *lines: str) -> None:
        """Run iproute2 inside, a line each; a batch takes no options in front."""
        for with_option, several in groupby(lines, lambda line: line.startswith("-")):
            if with_option:
                for line in several:
                    subprocess.run([*self._prefix, "ip", *line.split()], check=True)
            else:
                batch = "\n".join(several)
                subprocess.run([*self._prefix, "ip", "-batch", "-"], input=batch, text=True, check=True)

    def ip_json(self, line: str) -> list[dict[str, object]]:
        """Return what iproute2 prints inside."""
        command = [*self._prefix, "ip", "-j", *line.split()]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return json.loads(out or "[]")  # type: ignore[no-any-return]

    @property
    def _prefix(self) -> list[str]:
        return ["nsenter", "-t", str(self._holder.pid), "-n"]

    def sysctl(self, name: str, value: int | str) -> None:
        """Set a sysctl inside."""
        self.call(lambda: Path("/proc/sys", name).write_text(str(value)))

    def close(self) -> None:
        """Leave and forget it."""
        self._thread.shutdown()
        self._holder.terminate()
        self._holder.wait()
