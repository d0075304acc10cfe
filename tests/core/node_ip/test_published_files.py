"""The files that kubelet, CRI-O and shell scripts read."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import (
    BRIDGE_UP,
    CRIO_DROP_IN,
    IPV4,
    IPV6,
    PRIMARY,
    Publication,
    files,
    node_ips,
)

V4, V6 = ip_address("192.0.2.5"), ip_address("2001:db8::5")


def content(publication: Publication) -> dict[str, str | None]:
    return {
        file.path.name if "kubelet" not in str(file.path) else "kubelet": file.content.decode()
        if file.content
        else None
        for file in files(publication)
        if "crio" not in str(file.path)
    }


def test_a_single_address_is_published_everywhere() -> None:
    """Run files have one address and no newline; the other family's file must not exist."""
    assert content(Publication((V4,))) == {
        "kubelet": '[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.5" "KUBELET_NODE_IPS=192.0.2.5"\n',
        "remote-worker": None,
        "ipv4": "192.0.2.5",
        "ipv6": None,
        "primary-ip": "192.0.2.5",
    }


def test_dual_stack_keeps_the_order() -> None:
    """Primary first, whatever its family."""
    published = content(Publication((V6, V4)))
    assert '"KUBELET_NODE_IPS=2001:db8::5,192.0.2.5"' in str(published["kubelet"])
    assert (published["primary-ip"], published["ipv4"], published["ipv6"]) == (str(V6), str(V4), str(V6))


def test_crio_streams_from_the_primary_address() -> None:
    """One line, for systemd."""
    (crio,) = (file for file in files(Publication((V4,))) if "crio" in str(file.path))
    assert crio.content == b'[Service]\nEnvironment="CONTAINER_STREAM_ADDRESS=192.0.2.5"\n'
    assert crio.unit


def test_a_remote_worker_is_flagged_and_labelled() -> None:
    """Keepalived stays away from it, routers too."""
    published = content(Publication((V4,), remote_worker=True))
    assert published["remote-worker"] == "node ip doesn't match any vip, don't run keepalived"
    assert 'Environment="CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker"\n' in str(published["kubelet"])


def test_primary_ip_is_written_last() -> None:
    """Scripts wait for it and then read the others."""
    assert files(Publication((V4,)))[-1].path.name == "primary-ip"


CONTRACT = Path(__file__).parents[3] / "docs" / "published-files.md"
MANUAL = Path(__file__).parents[3] / "docs" / "man" / "nodenetd.8"


def test_the_contract_for_readers_names_every_file() -> None:
    """docs/published-files.md and the manual page (S3)."""
    page, manual = CONTRACT.read_text(), MANUAL.read_text().replace("\\-", "-")
    for path in [*(file.path for file in files(Publication((V4, V6), remote_worker=True))), BRIDGE_UP]:
        assert path.name in page
        assert path.name in manual
    assert Message.NODE_IP_OVERRIDDEN.value in page


def test_primary_ip_is_the_last_file_that_is_written() -> None:
    """As the contract promises readers; the drop-ins are first (S3)."""
    order = [file.path for file in files(Publication((V4, V6)))]
    assert order[-1] == PRIMARY
    assert [file.unit for file in files(Publication((V4,)))][:2] == ["kubelet.service", "crio.service"]
    assert "**`primary-ip` last**" in CONTRACT.read_text()


@pytest.mark.parametrize(
    ("contents", "node_ips_", "this_boot"),
    [
        ({}, (), False),
        ({PRIMARY: b""}, (), False),
        ({PRIMARY: b"node7"}, (), False),
        ({PRIMARY: b"192.0.2.5"}, (V4,), True),
        ({PRIMARY: b"2001:db8::5", IPV4: b"192.0.2.5", IPV6: b"2001:db8::5"}, (V6, V4), True),
        ({IPV4: b"192.0.2.5"}, (), False),
        ({CRIO_DROP_IN: b"[Service]\nEnvironment=CONTAINER_STREAM_ADDRESS=192.0.2.5\n"}, (V4,), False),
    ],
)
def test_what_is_published_is_read_back(
    contents: dict[PurePosixPath, bytes | None], node_ips_: tuple[object, ...], *, this_boot: bool
) -> None:
    """A file that names no address is as one that is missing (R15)."""
    assert node_ips(contents) == (node_ips_, this_boot)
