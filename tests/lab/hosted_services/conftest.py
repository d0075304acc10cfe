"""Nodes of a bare-metal cluster, with the real dnsmasq, keepalived and haproxy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from factories import NodeFactory
from harness import Flavour, Node, Suite
from harness.rootfs import packages
from vip_rig import PROGRAMS, SWITCHED_OFF

SETTINGS = """platform = "baremetal"
api_vips = ["10.88.0.5"]
ingress_vips = ["10.88.0.6"]
cluster_domain = "c.example.com"
hosted.enabled = "auto"
"""
FILE = "/etc/nodenet/nodenet.toml"


@pytest.fixture(scope="session")
def programs() -> Callable[[Suite], Path]:
    """The layer with the programs that hosted services run."""
    return functools.cache(lambda suite: packages(suite, *PROGRAMS))


@pytest.fixture
def hosted_node(
    product_node: NodeFactory, products: Callable[[Suite], Path], programs: Callable[[Suite], Path], suite: Suite
) -> NodeFactory:
    """Defines nodes that run hosted services."""

    def make(name: str = "m0", **options: object) -> Node:
        given: dict[str, str] = options.pop("files", {})  # type: ignore[assignment]
        off = {f"/etc/systemd/system/{unit}.service": SWITCHED_OFF for unit in ("haproxy", "keepalived")}
        layers = [programs(suite), products(suite)]
        return product_node(
            name, **{"layers": layers, "flavour": Flavour.OPENSHIFT, **options, "files": {FILE: SETTINGS} | off | given}
        )

    return make
