"""haproxy's configuration beyond the golden cases: which API servers are behind the balancer."""

from pathlib import Path

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.haproxy import backends


def test_the_backends_have_the_family_of_the_first_node_ip() -> None:
    listed = [(name, str(address)) for name, address in backends(read_inputs(CASES / "dual-stack-control-plane"))]
    assert listed == [("master-0", "192.0.2.10"), ("master-1", "192.0.2.11"), ("master-2", "192.0.2.12")]


def test_every_check_is_verified_by_the_clusters_authority() -> None:
    texts = [path.read_text() for path in Path(CASES).glob("*/haproxy.cfg")]
    assert texts
    assert all("verify required" in text and "verify none" not in text for text in texts)
