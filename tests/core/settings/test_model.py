"""The settings' values: written back as they are read, and one provider for every stage."""

import json

import pytest

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.model import STAGES, HostedSettings, IpamSettings, NotAllowed, values
from nodenet.core.settings.parse import parse
from nodenet.core.stage_name import StageName

WRITTEN = b"""probe_targets = ['tcp://[2001:db8::1]:6443', 'https://[2001:db8::1]:6443/readyz']
api_vips = ['192.0.2.10']
[bridge]
datapath = 'netdev'
[hosted]
advert_interval = 0.5
role = 'worker'
"""


def test_values_can_be_written_back() -> None:
    """What `nodenetctl settings` prints is valid input again."""
    settings = parse([("first.toml", WRITTEN)]).settings
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values(settings).items())
    assert parse([("second.toml", text.encode())]).settings == settings


def test_the_stages_are_the_stages() -> None:
    assert tuple(stage.value for stage in StageName) == STAGES


# The tables of hosted services: keys that contradict each other.


def test_the_defaults_contradict_nothing() -> None:
    assert HostedSettings().contradiction is None


def test_ports_that_others_need() -> None:
    assert HostedSettings(lb_port=443, api_port=443).contradiction == (
        "hosted.lb_port and hosted.api_port are both 443: the API server needs its port itself"
    )
    assert HostedSettings(lb_port=53).contradiction == "hosted.lb_port is 53, the port of DNS"


# The table of persistent IPs: what each key accepts.


def test_every_key_can_be_set() -> None:
    text = b"""[ipam]
kubeconfig = "/etc/nodenet/ipam.kubeconfig"
cni_bin_dirs = ["/usr/libexec/cni/"]
lease_namespace = "network"
claim_not_allowed = "ignore"
"""
    found = parse([("a.toml", text)]).settings.ipam
    assert found == IpamSettings("/etc/nodenet/ipam.kubeconfig", ("/usr/libexec/cni",), "network", NotAllowed.IGNORE)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('kubeconfig = "ipam.kubeconfig"', "expected an absolute path without '.' and '..'"),
        ('cni_bin_dirs = "/opt/cni/bin"', 'expected a list of directories, such as ["/opt/cni/bin"]'),
        ('cni_bin_dirs = ["/opt/cni/bin", "/opt/cni/bin/"]', "expected every item once"),
        ('lease_namespace = "Kube_System"', "expected the name of a namespace, such as 'nodenet-ipam'"),
        ('lease_namespace = "kube-system"', "expected a namespace without other Leases, such as 'nodenet-ipam'"),
        ('lease_namespace = "kube-node-lease"', "expected a namespace without other Leases"),
        ('lease_namespace = ""', "expected the name of a namespace, such as 'nodenet-ipam'"),
        ('claim_not_allowed = "ignored"', "expected one of error, ignore (did you mean 'ignore'?)"),
        ("binaries = []", "unknown key 'ipam.binaries'"),
    ],
)
def test_what_is_refused_names_the_key(line: str, expected: str) -> None:
    with pytest.raises(SettingsInvalid, match="ipam") as refused:
        parse([("a.toml", f"[ipam]\n{line}\n".encode())])
    assert expected in refused.value.cause
