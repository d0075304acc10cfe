"""Which links is a node file refused for that udev may still bring, and for how long are they waited for?

A NIC whose driver or firmware loads late appears seconds after NetworkManager has started. libnmstate refuses a file
that names a link which the kernel does not have, before it touches anything; but it tries to make a VLAN over it.
"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.links import Links

WAIT_SECONDS = 20.0
"""How long one boot waits for the links of a file: kubelet waits too, and without them it starts all the same."""


def missing(links: Links, present: Collection[str], failure: NmstateFailure) -> frozenset[str]:
    """Return the links that the kernel does not have, where *failure* is about one of them.

    *present*: every name of every link. A file that is wrong in another way does not become right by waiting.
    """
    gone = links.awaited.difference(present)
    words = {word.strip(".,;:'\"`()[]") for word in f"{failure.cause} {failure.said}".split()}
    return gone if failure.kind is FailureKind.INVALID and words & gone else frozenset()


def missing_bases(links: Links, present: Collection[str]) -> frozenset[str]:
    """Return the links that the kernel does not have and that libnmstate does not miss before it makes a VLAN."""
    return links.bases.difference(present)


def reason(file: str, links: Collection[str]) -> str:
    """Return what is waited for, in words."""
    named = f"link{'s' * (len(links) > 1)} {', '.join(sorted(links))}"
    return f"the {named} of {file}, which udev may still bring"
