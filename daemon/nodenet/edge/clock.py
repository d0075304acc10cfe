"""What time is it, and which boot is this? (clock_gettime(2): CLOCK_BOOTTIME; random(4): boot_id.)"""

from __future__ import annotations

import time
from pathlib import Path


class Clock:
    """The kernel's time since boot, suspend included; no wall clock change moves it."""

    def boottime(self) -> float:
        """Return the seconds since boot."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def unix(self) -> float:
        """Return the seconds of CLOCK_REALTIME."""
        return time.time()


def boot_id() -> str:
    """Return the id of this boot, 32 hexadecimal digits."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")
