"""Which trials are refused before the network is touched, and where is a confirmed file installed?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

from nodenet.core.errors import Busy, NodeFileInvalid, NodenetError, PublishFailed, UplinkRefused, UsageInvalid
from nodenet.core.node_file.content import OVS_KEYS, Desired
from nodenet.core.node_file.find import EXTENSIONS, is_of_cluster

REMOVE_FIRST = (
    "Run `nodenetctl bridge remove` first, on a drained node; `nodenetctl bridge make` makes the bridge again"
)


def not_over(health: str) -> Busy:
    """Return the refusal of a trial while stages still run."""
    return Busy(f"the boot of this node is not over ({health})", remedy="Wait with `nodenetctl status --wait`")


def not_ours(provider: str) -> UsageInvalid:
    """Return the refusal where another program applies the node file."""
    return UsageInvalid(
        f'`nmstate = "{provider}"`: nodenetd does not apply node files here',
        remedy='Set `nmstate = "builtin"` under [stages] in the settings',
    )


def nothing_to_try(name: str) -> UsageInvalid:
    """Return the refusal of a file that changes nothing."""
    return UsageInvalid(
        f"{name} asks for what is there already: there is nothing to try",
        remedy="Copy it into the directory of node files; `nodenetctl check` checks it",
    )


def own_file_changed(name: str) -> UsageInvalid:
    """Return the refusal where the node's own file, *name*, is the one to try, or was changed since it was read."""
    return UsageInvalid(
        f"{name}, the node's own file, is the one to try or was changed since nodenetd read it: it would be applied at "
        "the end of every trial, also without a confirmation",
        remedy="Put it back as it was (`applied` in its directory is a copy of the file in force) and try a copy in "
        "another directory; or apply it with `nodenetctl reload --wait`",
    )


def not_undone(name: str, difference: Mapping[str, Any], state: Mapping[str, Any]) -> UsageInvalid | None:
    """Return the refusal of a file that changes what NetworkManager's checkpoint does not have.

    libnmstate writes these itself. *difference* names both host names also where only one of them differs from *state*.
    """
    names, present = difference.get("hostname") or {}, state.get("hostname") or {}
    changed = ["hostname"] if any(value != present.get(key) for key, value in names.items()) else []
    changed += [key for key in OVS_KEYS if difference.get(key)]
    if not changed:
        return None
    return UsageInvalid(
        f"{name} changes {' and '.join(changed)}, which NetworkManager does not roll back",
        remedy="Try the file without that; `nodenetctl reload --wait` applies the rest, without a trial",
    )


def asks_for_nothing(name: str) -> NodeFileInvalid:
    """Return the refusal of a file without content."""
    return NodeFileInvalid(f"{name} asks for nothing", remedy="Write into it what this node needs")


def below_bridge(name: str, wish: Desired, touched: Collection[str], below: Mapping[str, str]) -> NodenetError | None:
    """Return the refusal of a file that changes a link below br-ex, or a bridge that nodenetd has made.

    *touched* are the links that the file *name* changes, *below* is link → bridge for bridges that no file defines.
    """
    for bridge in sorted(set(below.values())):
        if bridge in wish.bridges or bridge in touched:
            cause = f"{name} changes {bridge}, which nodenetd made over {_over(below, bridge)}"
            return UplinkRefused(cause, remedy=REMOVE_FIRST)
    for link in sorted(touched):
        if link in below:
            return UplinkRefused(f"{name} changes {link}, which is below {below[link]}", remedy=REMOVE_FIRST)
    return None


def _over(below: Mapping[str, str], bridge: str) -> str:
    return " and ".join(sorted(link for link, above in below.items() if above == bridge))


def still_installed(target: PurePath, why: PublishFailed, error: NodenetError) -> NodenetError:
    """Return *error*, which ended a trial after its file was installed as *target*, with *why* that file is there."""
    cause = f"{error.cause}; the file of the trial is still installed, and the next boot applies it: {why.cause}"
    remedy = f"Put {target} back as it was (`applied` in its directory is a copy of the file in force). {why.remedy}"
    return error.saying(cause, remedy)


def touched_links(difference: Mapping[str, Any]) -> frozenset[str]:
    """Return the links that a difference of libnmstate changes."""
    return frozenset(str(item.get("name")) for item in difference.get("interfaces") or ())


def install_name(found: str | None, hostname: str | None) -> str:
    """Return the name under which a confirmed file is installed: that of the node's own file, else a new one.

    Raises UsageInvalid where the node has no name yet.
    """
    if found and not is_of_cluster(found):
        return found
    if not hostname:
        raise UsageInvalid(
            "this node has no host name yet, so a confirmed file could not be installed for it",
            remedy="Look at `nodenetctl explain hostname`",
        )
    return hostname.split(".", maxsplit=1)[0] + EXTENSIONS[0]
