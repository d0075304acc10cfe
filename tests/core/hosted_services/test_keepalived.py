"""keepalived's configuration beyond the golden cases: the router ids of the stack that is replaced."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosted_services_cases import directories, read_inputs
from nodenet.core.hosted_services.duties import vip_duties
from nodenet.core.hosted_services.keepalived import configuration, receives, router_ids
from nodenet.core.hosted_services.model import Options, Purpose
from nodenet.core.hosted_services.packets import Advert
from nodenet.core.ip import Family


def test_the_router_ids_are_those_of_the_replaced_stack() -> None:
    """Computed by hand from Fletcher's sums modulo 15: (first, second) = (13, 0) for ``ostest-api``."""
    assert router_ids("ostest") == {Purpose.API: 14, Purpose.INGRESS: 93}


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63))
def test_the_ids_of_a_cluster_are_valid_and_differ(cluster: str) -> None:
    found = router_ids(cluster)
    assert len(set(found.values())) == 2
    assert all(1 <= number <= 239 for number in found.values())


@pytest.mark.parametrize(
    ("own", "family", "version", "interval", "taken"),
    [
        (1.0, Family.IPV4, 2, 1.0, True),
        (1.0, Family.IPV4, 2, 2.0, False),
        (1.0, Family.IPV4, 3, 1.0, False),
        (0.1, Family.IPV4, 3, 0.5, True),
        (0.1, Family.IPV4, 2, 1.0, False),
        (1.0, Family.IPV6, 3, 0.1, True),
    ],
)
def test_nodes_with_another_version_or_interval_are_not_heard(
    own: float,
    family: Family,
    version: int,
    interval: float,
    taken: bool,  # noqa: FBT001
) -> None:
    """As keepalived does: it logs "wrong version" and "advertisement interval mismatch"."""
    assert receives(Options(advert_interval=own), Advert(14, 65, version, interval), family) is taken


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_only_peers_are_heard_and_the_bus_is_not_joined(directory: Path) -> None:
    """VRRP has no authentication: without the check, one packet with priority 254 from anywhere takes the VIP off."""
    inputs = read_inputs(directory)
    text = configuration(inputs, vip_duties(inputs))
    assert text is None or ("    vrrp_check_unicast_src\n" in text and "enable_dbus" not in text)
