"""How does a hint for the node IP reach a node? In the environment file that the node's other tools read, too."""

from __future__ import annotations

from pathlib import PurePosixPath

from nodenet.core.day_one.files import ArtefactInvalid, CarriedFile
from nodenet.core.node_ip.hints import parse_value

PATH = PurePosixPath("/etc/default/nodeip-configuration")
VARIABLE = "KUBELET_NODEIP_HINT"
"""The name that every release of the node's other tools knows."""


def hint_file(hint: str) -> CarriedFile:
    """Return the file with a hint: an address, a prefix, or the name of a link. Raises ArtefactInvalid."""
    reading = parse_value(hint, "--hint")
    if reading.problems:
        raise ArtefactInvalid(f"{reading.problems[0].cause}. {reading.problems[0].remedy}")
    if not reading.hints:
        raise ArtefactInvalid("--hint is empty")
    words = " ".join(each.text for each in reading.hints)
    value = f'"{words}"' if len(reading.hints) > 1 else words
    return CarriedFile(PATH, f"{VARIABLE}={value}\n".encode())
