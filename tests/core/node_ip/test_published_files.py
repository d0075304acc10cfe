"""The files that kubelet, CRI-O and shell scripts read."""

from __future__ import annotations

from ipaddress import ip_address

from nodenet.core.node_ip.published_files import Publication, files

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
