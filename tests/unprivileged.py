"""How does a test do something as a user without privileges, also where the tests run as root?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Give up root's capabilities for a while (capabilities(7): with the effective user id); import before."""
    if os.geteuid() != 0:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
