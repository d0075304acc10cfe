"""Is this a valid name for a node, and which node files belong to it?

The kernel, hostnamed and DHCP servers give names in many forms: in upper case, with a trailing dot, with the whole
domain, or ``localhost`` until something better is known.
"""

from __future__ import annotations

import re

LONGEST_LABEL = 63
"""RFC 1123, section 2.1; also Kubernetes' limit for a node name's label."""
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def normalised(name: str) -> str:
    """Return *name* as it is compared: lower case, no blanks around it, no trailing dot, 63 characters at most.

    Kubernetes takes no longer one as a label; of a longer name only the first part counts, cut where it must be.
    """
    plain = name.strip().rstrip(".").lower()
    if len(plain) <= LONGEST_LABEL:
        return plain
    return plain.split(".", maxsplit=1)[0][:LONGEST_LABEL].rstrip("-_")


def why_invalid(name: str) -> str | None:
    """Return what is wrong with a normalised *name*, or None when it is a node's name.

    A name that begins with ``localhost`` means that the name is not known yet. A name that could leave a directory
    (``/``, ``..``) fails the label rule.
    """
    if not name:
        return "it is empty"
    labels = name.split(".")
    if is_placeholder(name):
        return "it only means that the real name is not known yet"
    if "_" in name:
        return "no host name has an underscore, and Kubernetes takes no Node of that name"
    for label in labels:
        if len(label) > LONGEST_LABEL:
            return f"the part {label[:16]}… is longer than {LONGEST_LABEL} characters"
        if not _LABEL.fullmatch(label):
            return f"the part {label!r} has characters that no host name has"
    return None


def is_placeholder(name: str) -> bool:
    """Return whether a normalised *name* stands for a name that is not known yet."""
    return not name or name.startswith("localhost")


def stems(name: str) -> tuple[str, ...]:
    """Return the file stems that belong to *name*, the most specific first: whole name, then short name."""
    short = name.split(".", maxsplit=1)[0]
    return (name,) if short == name else (name, short)
