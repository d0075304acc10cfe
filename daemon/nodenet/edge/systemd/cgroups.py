"""Does a unit have processes? Read from the cgroup tree: neither the bus nor systemctl nor root is needed."""

from __future__ import annotations

from pathlib import Path

TREE = Path("/sys/fs/cgroup")


def has_processes(unit: str, tree: Path = TREE) -> bool:
    """Return whether the service *unit* of any slice at the top has processes (cgroup.events, cgroups(7))."""
    for events in tree.glob(f"*.slice/{unit}/cgroup.events"):
        try:
            if "populated 1" in events.read_text().splitlines():
                return True
        except OSError:  # the unit ended meanwhile
            continue
    return False
