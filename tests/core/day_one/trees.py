"""Trees of YAML for the tests of the rules."""

from nodenet.core.day_one import reading
from nodenet.core.node_file.yaml_text import Block

NIC = "- {name: enp2s0, type: ethernet, state: up}\n"


def block(text: str) -> Block:
    """Return the tree of a document that is a mapping or a list."""
    found = reading.tree("it", text)
    assert isinstance(found, Block)
    return found
