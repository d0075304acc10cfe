"""The settings that follow from install-config are those that nodenetd reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.day_one.trees import block
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.hosts import Cluster, cluster_of
from nodenet.core.day_one.machine_config import settings_of
from nodenet.core.settings.parse import parse

ADDRESSES = st.ip_addresses(v=4, network="10.0.0.0/8").map(str)


def cluster(text: str) -> Cluster:
    found = cluster_of("install-config.yaml", block(text))[0]
    assert found is not None
    return found


@given(
    st.sampled_from(("baremetal", "vsphere", "openstack", "nutanix")),
    ADDRESSES,
    ADDRESSES,
    st.sampled_from(("OVNKubernetes", "Calico")),
    st.booleans(),
)
def test_they_are_read_back(platform: str, api: str, ingress: str, network: str, managed: bool) -> None:  # noqa: FBT001
    balancer = "\n    loadBalancer:\n      type: UserManaged" if managed else ""
    text = (
        f"baseDomain: example.com\nmetadata:\n  name: lab\nnetworking:\n  networkType: {network}\n"
        f"platform:\n  {platform}:\n    apiVIPs:\n    - {api}\n    ingressVIPs:\n    - {ingress}{balancer}\n"
    )
    file = settings_of(cluster(text))
    assert file == settings_of(cluster(text))
    found = parse([(str(file.path), file.content)]).settings
    assert (found.platform, found.network_type, found.cluster_domain) == (platform, network, "lab.example.com")
    assert [str(vip) for vip in (*found.api_vips, *found.ingress_vips)] == [api, ingress]
    assert found.user_managed_lb is managed


def test_a_cluster_without_vips_has_none() -> None:
    found = parse([("x", settings_of(cluster("platform:\n  none: {}\n")).content)]).settings
    assert (found.platform, found.api_vips, found.cluster_domain) == ("none", (), "")


def test_what_nodenetd_refuses_is_refused_here() -> None:
    with pytest.raises(ArtefactInvalid, match=r"^nodenetd would refuse these settings: .*platform = 'mainframe'"):
        settings_of(cluster("platform:\n  mainframe: {}\n"))
