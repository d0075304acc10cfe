"""What is printed about a node file that was compared with a node."""

from __future__ import annotations

import pytest

from nodenet.cli.preview import Preview, not_compared
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.find import NodeFile
from nodenet.core.trial.refusals import Change

FILE = NodeFile("new.yml", "interfaces: []\n", "d" * 64)
FOUND = Preview(
    FILE,
    (
        Change("eth0", "mtu", "1500", "1400"),
        Change("eth0", "ipv4.dhcp", "", "true"),
        Change("routes", "config", "x", ""),
    ),
    ("eth0, the link of the node IP, is down then",),
    ("eth1 is below a bridge that has its IP configuration, which is not compared",),
)


def test_values_are_listed_by_place_and_what_matters_is_said_after_them() -> None:
    assert FOUND.text().splitlines() == [
        "eth0",
        "  mtu        1500 -> 1400",
        "  ipv4.dhcp  - -> true",
        "routes",
        "  config     x -> -",
        "Attention: eth0, the link of the node IP, is down then.",
        "Note: eth1 is below a bridge that has its IP configuration, which is not compared.",
    ]


def test_no_name_of_a_file_controls_a_terminal() -> None:
    assert Preview(NodeFile("a\x1b[2J.yml", "", "d"), (), ()).text() == "a?[2J.yml changes nothing on this node."


@pytest.mark.parametrize(
    ("kind", "code"),
    [(FailureKind.INVALID, 65), (FailureKind.UNAVAILABLE, 69), (FailureKind.PLUGIN, 69), (FailureKind.PERMISSION, 77)],
)
def test_a_file_that_libnmstate_refuses_for_this_node_is_invalid_input(kind: FailureKind, code: int) -> None:
    """As one that is refused before the comparison; who cannot compare has another exit code."""
    error = not_compared("new.yml", NmstateFailure(kind, "no such link"))
    assert error.exit_code == code
    assert error.cause == "new.yml cannot be compared with this node: no such link"


def test_programs_get_the_same() -> None:
    document = FOUND.document()
    assert document["changes"][0] == {"place": "eth0", "key": "mtu", "before": "1500", "after": "1400"}
    assert (document["node_file"], document["digest"], document["schema_version"]) == ("new.yml", "d" * 64, 1)
    assert (len(document["means"]), len(document["notes"])) == (1, 1)
