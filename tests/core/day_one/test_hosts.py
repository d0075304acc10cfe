"""Hosts, networks and VIPs of install-config, and the BareMetalHosts of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.hosts import bare_metal_hosts, cluster_of

SEED = (Path(__file__).parents[3] / "fixtures/day_one/seed/install-config.yaml").read_text()


def test_the_seeds_install_config() -> None:
    cluster, found = cluster_of("i.yaml", block(SEED))
    assert cluster is not None
    assert found == []
    assert [host.name.text for host in cluster.hosts] == ["ostest-master-0", "ostest-master-1"]
    assert (cluster.platform, [str(each) for each in cluster.networks]) == ("baremetal", ["192.168.111.0/24"])
    assert [str(each) for each in (*cluster.api_vips, *cluster.ingress_vips)] == ["192.168.111.5"]


def test_older_keys_are_read() -> None:
    text = "networking: {machineCIDR: 192.0.2.0/24}\nplatform: {vsphere: {apiVIP: 192.0.2.2, ingressVIP: 192.0.2.3}}\n"
    cluster, found = cluster_of("i.yaml", block(text))
    assert cluster is not None
    assert found == []
    assert [str(each) for each in (*cluster.networks, *cluster.api_vips, *cluster.ingress_vips)] == [
        "192.0.2.0/24",
        "192.0.2.2",
        "192.0.2.3",
    ]


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("- a\n", "hosts-shape", 1),
        ("a: 1\n", "hosts-shape", 1),
        ("platform: {baremetal: {hosts: 3}}\n", "hosts-shape", 1),
        ("platform:\n  baremetal:\n    hosts:\n    - role: x\n", "hosts-shape", 4),
        ("platform: {none: {}}\nnetworking:\n  machineNetwork:\n  - cidr: 192.0.2.1/24\n", "hosts-shape", 4),
        ("platform: {baremetal: {apiVIPs: [nonsense]}}\n", "hosts-shape", 1),
        ("platform: {none: {}}\na: 1\na: 2\n", "key-twice", 3),
    ],
)
def test_what_is_wrong_with_its_structure_has_a_place(text: str, rule: str, line: int) -> None:
    (found,) = cluster_of("i.yaml", block(text))[1]
    assert (found.rule.word, found.line) == (rule, line)


def test_bare_metal_hosts_have_their_secret() -> None:
    text = "kind: BareMetalHost\nmetadata: {name: w}\nspec: {bootMACAddress: x, preprovisioningNetworkDataName: s}\n"
    (host,), found = bare_metal_hosts("h.yaml", [block(text), block("kind: Secret\n")])
    assert found == []
    assert host.secret is not None
    assert (host.name.text, host.secret.text) == ("w", "s")
    _, (nameless,) = bare_metal_hosts("h.yaml", [block("kind: BareMetalHost\n")])
    assert nameless.cause == "the BareMetalHost has no name"
