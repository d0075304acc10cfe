"""What does a test of persistent IPs get for free? A cluster that its module shares, nodes, and a namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from factories import started
from ipam_node import IpamNode, NodeMaker
from ipam_site import Site, Space


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A cluster with the product's manifests; tests of a module share it."""
    for lab in started(request):
        with Site(lab) as made:
            yield made


@pytest.fixture
def space(site: Site) -> Iterator[Space]:
    """A namespace of the test's own; the proxy is without faults again afterwards."""
    made = site.space()
    yield made
    made.close()
    site.proxy.open()
    site.proxy.clear()


@pytest.fixture
def node(site: Site) -> Iterator[NodeMaker]:
    """Makes nodes with a running service: `node()`, `node(wired=False)` for one without a NIC of its own."""
    made: list[IpamNode] = []

    def make(*, start: bool = True, **options: Any) -> IpamNode:
        number = len(made)
        one = IpamNode(site, f"{site.unique()}-node-{number}", number, **options)
        made.append(one)
        if start:
            one.start()
        return one

    yield make
    for one in made:
        one.remove()
