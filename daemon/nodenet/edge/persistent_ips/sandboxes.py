"""Is the network namespace of a sandbox still there?"""

from __future__ import annotations

from pathlib import Path


def is_gone(netns: str) -> bool:
    """Return whether the file of a network namespace is gone; False where it cannot be looked at."""
    if not netns.startswith("/"):
        return False
    try:
        Path(netns).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
