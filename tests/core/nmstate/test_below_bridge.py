"""What a node file gave to a link below br-ex is looked for on br-ex; everything else stays where it was."""

from __future__ import annotations

from nodenet.core.nmstate.state import still_asked, uplinks, without_bridges

BRIDGES = ("br-ex", "br-ex1")
PORT = {"name": "bond0", "type": "bond", "controller": "br-ex", "mtu": 1500}
OTHER = {"name": "eth5", "type": "ethernet", "ipv4": {"enabled": True}}
STATE = {
    "interfaces": [
        PORT,
        OTHER,
        {"name": "br-ex", "type": "ovs-interface"},
        {
            "name": "br-ex",
            "type": "ovs-bridge",
            "bridge": {"port": [{"name": "bond0"}, {"name": "br-ex"}, {"name": "p"}]},
        },
        {"name": "br-int", "type": "ovs-bridge", "bridge": {"port": [{"name": "eth5"}]}},
    ],
    "routes": {"config": []},
}


def test_links_below_are_freed() -> None:
    """Of these bridges only; patch ports are no links."""
    assert uplinks(STATE, BRIDGES) == {"bond0"}
    freed = without_bridges(STATE, BRIDGES)
    assert [item["name"] for item in freed["interfaces"]] == ["bond0", "eth5", "br-int"]
    assert "controller" not in freed["interfaces"][0]
    assert freed["routes"] == STATE["routes"]


def test_a_link_whose_place_another_one_took_is_not_expected_to_have_its_configuration() -> None:
    row = {"name": "br-ex", "type": "ovs-bridge", "ovs-db": {"external_ids": {"nodenet-first": "eth5"}}}
    rows = [PORT, OTHER, row | {"bridge": {"port": [{"name": "bond0"}]}}]
    assert uplinks({"interfaces": rows}, BRIDGES) == {"bond0", "eth5"}


def test_only_ip_of_those_links_is_left_out() -> None:
    """Their MTU is asked for still, and the addresses of others."""
    ip = {"name": "bond0", "type": "bond", "state": "up", "ipv4": {"enabled": True}}
    routes = {"config": [{"next-hop-interface": "bond0"}, {"next-hop-interface": "eth5"}]}
    left = still_asked({"interfaces": [ip, OTHER], "routes": routes, "dns-resolver": {"config": {}}}, {"bond0"})
    assert left["interfaces"] == [OTHER]
    assert left["routes"] == {"config": [{"next-hop-interface": "eth5"}]}
    assert "dns-resolver" in left
    assert still_asked({"interfaces": [ip], "routes": {"config": routes["config"][:1]}}, {"bond0"}) == {}
    (item,) = still_asked({"interfaces": [{**ip, "mtu": 9000}]}, {"bond0"})["interfaces"]
    assert item == {"name": "bond0", "type": "bond", "state": "up", "mtu": 9000}
