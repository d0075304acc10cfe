"""What each kubelet reads: kubeadm's by its variables, k3s and RKE2 by a file, OpenShift's as it is."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest

from nodenet.core.node_ip.published_files import (
    KUBELET_DROP_IN,
    RANCHER,
    Publication,
    UnitEnvironment,
    Wiring,
    drop_in_variables,
    files,
    given,
    means,
    passes_arguments,
    without_arguments,
)

KUBEADM = PurePosixPath("/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf")
FLAGS = PurePosixPath("/var/lib/kubelet/kubeadm-flags.env")
EXTRA = PurePosixPath("/etc/default/kubelet")
CONTENT = b"""[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/k"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
"""
WORDS = ("$KUBELET_KUBECONFIG_ARGS", "$KUBELET_CONFIG_ARGS", "$KUBELET_KUBEADM_ARGS", "$KUBELET_EXTRA_ARGS")
SEEN = UnitEnvironment({}, (FLAGS, EXTRA), (KUBEADM, KUBELET_DROP_IN), command=("/usr/bin/kubelet", *WORDS))
VALUE = "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/k"
IPS = (ip_address("192.0.2.5"), ip_address("2001:db8::5"))


def test_kubeadms_kubelet_gets_the_argument_in_a_variable_of_the_package() -> None:
    """The same again after it was written; an empty KUBELET_EXTRA_ARGS, as the RPM has it, does not take it away."""
    published = next(
        file
        for file in files(Publication(IPS, wiring=Wiring(("KUBELET_KUBECONFIG_ARGS", VALUE))))
        if file.path == KUBELET_DROP_IN
    )
    contents = {KUBEADM: CONTENT, KUBELET_DROP_IN: published.content, EXTRA: b"KUBELET_EXTRA_ARGS=\n"}
    assert passes_arguments(SEEN, contents, KUBELET_DROP_IN) == ("KUBELET_KUBECONFIG_ARGS", VALUE)
    variables = drop_in_variables(published.content or b"")
    assert variables["KUBELET_KUBECONFIG_ARGS"] == f"{VALUE} --node-ip=192.0.2.5,2001:db8::5"
    assert without_arguments(published.content or b"") == files(Publication(IPS))[0].content


def test_a_variable_of_an_environment_file_is_left_alone() -> None:
    contents = {KUBEADM: CONTENT, EXTRA: b"KUBELET_KUBECONFIG_ARGS=--kubeconfig=/mine\n"}
    found = passes_arguments(SEEN, contents, KUBELET_DROP_IN)
    assert found == ("KUBELET_CONFIG_ARGS", "--config=/var/lib/kubelet/config.yaml")
    every = b"".join(f"{word[1:]}=x\n".encode() for word in WORDS)
    assert passes_arguments(SEEN, {KUBEADM: CONTENT, EXTRA: every}, KUBELET_DROP_IN) is None


@pytest.mark.parametrize("word", ["--node-ip=${KUBELET_NODE_IP}", "${KUBELET_NODE_IPS}", "--node-ip=192.0.2.1"])
def test_a_unit_that_passes_a_node_ip_itself_needs_nothing(word: str) -> None:
    """As OpenShift's does; two of them would be one too many."""
    seen = UnitEnvironment({}, drop_ins=(KUBEADM,), command=("/usr/bin/kubelet", word, *WORDS))
    assert passes_arguments(seen, {KUBEADM: CONTENT}, KUBELET_DROP_IN) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("/usr/bin/kubelet", "$KUBELET_KUBEADM_ARGS", "$KUBELET_EXTRA_ARGS"), ("KUBELET_EXTRA_ARGS", "")),
        (("/usr/bin/kubelet", "--config=/etc/k.yaml"), None),
        ((), None),
    ],
)
def test_a_unit_without_variables_of_its_own(command: tuple[str, ...], expected: object) -> None:
    assert passes_arguments(UnitEnvironment({}, command=command), {}, KUBELET_DROP_IN) == expected


def test_a_value_that_a_drop_in_cannot_repeat_is_not_repeated() -> None:
    """% begins a specifier of systemd, and a quote ends the value."""
    odd = b"[Service]\nEnvironment='KUBELET_KUBECONFIG_ARGS=--label=%H'\n"
    assert passes_arguments(SEEN, {KUBEADM: odd}, KUBELET_DROP_IN) == ("KUBELET_EXTRA_ARGS", "")


@pytest.mark.parametrize("unit", RANCHER)
def test_k3s_and_rke2_read_a_file(unit: str) -> None:
    """Not where their command names a node IP: they would get both, and refuse two of one family."""
    path = PurePosixPath(f"/etc/rancher/{RANCHER[unit]}/config.yaml.d/90-nodenet.yaml")
    for reads, content in ((True, b'node-ip: "192.0.2.5,2001:db8::5"\n'), (False, None)):
        found = {file.path: file for file in files(Publication(IPS, wiring=Wiring(rancher=((unit, reads),))))}
        assert (found[path].content, found[path].drop_in, found[path].unit) == (content, False, unit)
        assert found[PurePosixPath(f"/etc/systemd/system/{unit}.d/20-nodenet.conf")].drop_in


@pytest.mark.parametrize(
    ("arguments", "value", "right"),
    [
        (("kubelet", "--node-ip=192.0.2.5,2001:db8::5"), "192.0.2.5,2001:db8::5", True),
        (("kubelet", "--node-ip", "192.0.2.5"), "192.0.2.5", True),
        (("kubelet", "--node-ip=192.0.2.5", "--node-ip=192.0.2.9"), "192.0.2.9", False),
        (("kubelet", "--node-ip=2001:db8::5"), "2001:db8::5", False),
        (("kubelet", "--node-ip=::"), "::", False),
        (("kubelet", "--node-ip=worker"), "worker", False),
        (("kubelet", "--node-ip"), None, False),
        (("kubelet", "--node-ip="), None, False),
        (("kubelet", "--node-ips=1"), None, False),
    ],
)
def test_the_node_ip_of_a_running_kubelet(arguments: tuple[str, ...], value: str | None, right: object) -> None:
    assert given(arguments) == value
    assert value is None or means(value, IPS) is right
