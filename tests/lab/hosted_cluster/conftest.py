"""A real API with the kind HostedNetServices, as the product's manifests make it; a module's tests share it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from factories import started
from harness import eventually
from harness.kube import Cluster
from hosted_cluster_objects import MANIFESTS, RESOURCES


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Etcd and kube-apiserver with the product's manifests, applied by kubectl."""
    for lab in started(request):
        with Cluster(lab.lan(serve=False)) as made:
            for path in MANIFESTS:
                made.kubectl("apply", "-f", str(path))
            eventually(lambda: made.admin.find(RESOURCES), "the API to serve HostedNetServices", timeout=60)
            yield made
