"""The table of persistent IPs: what each key accepts."""

from __future__ import annotations

import pytest

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.model import IpamSettings, NotAllowed
from nodenet.core.settings.parse import parse


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
