"""The document of the first step has the same addresses, routes and DNS, on the link below the bridge."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.core.day_one import reading
from nodenet.core.day_one.document import addresses, early, gateways, interfaces, name_servers, read, render
from nodenet.core.day_one.links import refusals
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.node_file.yaml_text import Block

SEED = read((Path(__file__).parents[3] / "fixtures/day_one/seed/br-ex/master-0.yml").read_text())


def test_it_can_become_keyfiles_and_is_read_back() -> None:
    text = render(early(SEED))
    made = read(text)
    assert made == early(SEED)
    assert render(made) == text
    tree = reading.tree("early", render(made))
    assert isinstance(tree, Block)
    assert list(refusals("early", tree)) == []
    (link,) = interfaces(made)
    assert [str(item) for item in addresses(link)] == ["192.168.111.110/24"]
    assert (gateways(made), name_servers(made)) == (gateways(SEED), name_servers(SEED))


def test_a_document_without_a_bridge_stays_as_it_is() -> None:
    plain = read("interfaces: [{name: eth0, type: ethernet}]\n")
    assert early(plain) == dict(plain)


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        ("[{name: br-ex}]", "bridge br-ex: one link below it is expected, found none: write this step by hand"),
        (
            "[{name: br-ex}, {name: a}, {name: b}]",
            "bridge br-ex: one link below it is expected, found a and b: write this step by hand",
        ),
        (
            "[{name: br-ex}, {name: bond, link-aggregation: {mode: balance-slb}}]",
            (
                "bridge br-ex: a bond of Open vSwitch does not exist before Open vSwitch: "
                "write this step by hand, with a kernel bond or one of its links"
            ),
        ),
    ],
)
def test_a_bridge_without_one_plain_link_is_refused(port: str, problem: str) -> None:
    bridge = f"- {{name: br-ex, type: ovs-bridge, bridge: {{port: {port}}}}}\n"
    text = f"interfaces:\n{bridge}- {{name: br-ex, type: ovs-interface}}\n"
    with pytest.raises(ArtefactInvalid) as caught:
        early(read(text))
    assert str(caught.value) == problem
