"""Every keyfile that day one makes of its documents is read by NetworkManager, and its link comes up."""

from __future__ import annotations

import re
from pathlib import Path

from day_one.artefacts import KEYFILES
from factories import NodeFactory
from harness import Dhcp, Lab, Lan, Node

MADE = Path(__file__).parents[3] / "fixtures" / "day_one" / "keyfiles"
"""What `nodenetctl day-one keyfiles` makes of the documents beside it: `tests/cli/day_one/test_golden.py`."""
NO_MODULE = frozenset({"bond", "dummy", "infiniband", "macsec", "macvlan", "vlan", "vrf", "vxlan"})
"""Types for which the kernel of a lab node may have no module: they are read, and do not come up."""
NOT_UP = {
    "ethernet-802.1x": "no switch of the lab asks for a password",
    "ethernet-speed": "a veth has no speed that can be set",
    "linux-bridge-vlan-filter": "the kernel may have no VLANs",
    "sr-iov": "a veth has no virtual functions",
    "veth": "no server gives an address at its other end",
}
"""Document → why its links do not come up in the lab."""


def keyfiles(document: str, mac: str) -> dict[str, str]:
    """Return name → text of the keyfiles of *document*, for a NIC with *mac*."""
    found = re.sub(r"(?m)^mac-address=.*", f"mac-address={mac}", (MADE / f"{document}.txt").read_text())
    parts = [part.partition("\n") for part in f"\n{found}".split("\n==> ")[1:]]
    return {name: text for name, _, text in parts}


def load(node: Node, made: dict[str, str]) -> set[str]:
    """Put the keyfiles in the place of all others; return the names of those that NetworkManager has read."""
    node.run(f"rm -f {KEYFILES}/*")
    for name, text in made.items():
        node.write(f"{KEYFILES}/{name}", text, 0o600)
    node.run("nmcli connection reload")
    lines = node.run("nmcli --get-values FILENAME connection show").stdout.splitlines()
    return {line.rpartition("/")[2] for line in lines if line.startswith(KEYFILES)}


def types_of(made: dict[str, str]) -> set[str]:
    return {line.partition("=")[2] for text in made.values() for line in text.splitlines() if line.startswith("type=")}


def test_each_keyfile_is_read_and_its_link_comes_up(bare_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    other = lab.lan("other")
    for each in (lan, other):
        each.start_dhcp(Dhcp())
    node = bare_node(nics=[lan, other])
    node.boot()
    node.wait_settled()
    for number in (0, 1):
        node.run(f"ip link set eth{number} down && ip link set eth{number} name enp{number + 1}s0")
    documents = sorted(path.stem for path in MADE.glob("*.txt"))
    assert len(documents) >= 50
    not_read, not_up, up = {}, {}, 0
    for document in documents:
        made = keyfiles(document, node.mac())
        if missing := made.keys() - load(node, made):
            not_read[document] = missing
        if types_of(made) & NO_MODULE or document in NOT_UP:
            continue
        for name in sorted(made):
            activate = f"nmcli --wait 20 connection up id {name.removesuffix('.nmconnection')}"
            done = node.run(activate, check=False, timeout=60)
            up += 1
            if done.returncode:
                not_up[f"{document}: {name}"] = done.stderr[-200:]
    assert not_up == {}
    assert not_read == {}
    assert up >= 25
