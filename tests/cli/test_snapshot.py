"""`nodenetctl snapshot`: what it prints is what `explain node-ip` reads."""

from __future__ import annotations

import json

from cli.test_explain_node_ip import explain, nodenetctl


def test_this_host_is_explained_and_its_snapshot_printed() -> None:
    """Whatever host the test runs on: live reading and reading back agree."""
    live = explain("--json")
    printed = nodenetctl("snapshot")
    assert printed.returncode == 0
    assert set(json.loads(printed.stdout)) == {"links", "addresses", "routes", "routes6"}
    again = explain("--json", "--snapshot", "-", stdin=printed.stdout)
    assert live.returncode in (0, 1)
    assert [item["address"] for item in json.loads(live.stdout)["candidates"]] == [
        item["address"] for item in json.loads(again.stdout)["candidates"]
    ]


def test_a_snapshot_has_all_routes_for_those_who_ask() -> None:
    """A full table would be more than `explain` reads; the loopback link's own routes are on every host."""
    short, everything = (json.loads(nodenetctl("snapshot", *words).stdout) for words in ((), ("--all",)))
    assert all(route["dst"] == "default" or route["protocol"] == "ra" for route in short["routes"] + short["routes6"])
    assert any(route.get("table") == "local" for route in everything["routes"])
    assert [link["ifname"] for link in short["links"]] == [link["ifname"] for link in everything["links"]]


def test_both_verbs_name_how_much_can_be_explained() -> None:
    for words in (("explain", "node-ip"), ("snapshot",)):
        assert b"32 MiB" in b" ".join(nodenetctl(*words, "--help").stdout.split())
