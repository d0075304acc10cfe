"""Which files publish the node IPs, and with which environment do units and processes run?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import (
    BRIDGE_UP,
    CRIO_DROP_IN,
    IPV4,
    IPV6,
    KUBELET_DROP_IN,
    PRIMARY,
    RANCHER,
    Publication,
    PublishedFile,
    UnitEnvironment,
    Wiring,
    drop_in_removals,
    drop_in_variables,
    file_variables,
    files,
    given,
    logical_lines,
    means,
    node_ips,
    overrides,
    passes_arguments,
    unquoted,
    without_arguments,
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
    assert Message.NODE_IP_NOT_IN_USE.value in page


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


def test_comments_and_continuations() -> None:
    assert list(logical_lines("# x\n; y\n\nA=1 \\\n2\nB=3")) == [(4, "A=1 2"), (6, "B=3")]


@pytest.mark.parametrize(("value", "plain"), [("a", "a"), ("'a b'", "a b"), ('"a"', "a"), ("", "")])
def test_quotes_are_taken_off(value: str, plain: str) -> None:
    assert unquoted(value) == plain


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(ValueError, match="the quote ' is not closed"):
        unquoted("'a")


def test_a_file_sets_what_can_be_understood_and_the_last_one_wins() -> None:
    assert file_variables(b"A=1\nA = 'two'\nno equals\nB='open\nC=\xff") == {"A": "two", "C": "\ufffd"}


def test_a_drop_in_sets_variables_until_an_empty_line_forgets_them() -> None:
    text = b'[Service]\nEnvironment=A=1 "B=two words"\nExecStart=/bin/x A=9\n'
    assert drop_in_variables(text) == {"A": "1", "B": "two words"}
    assert drop_in_variables(text + b"Environment=\nEnvironment=C=3\n") == {"C": "3"}
    assert drop_in_variables(b"Environment=A='open\nEnvironment=B=1\n") == {"B": "1"}


def test_a_drop_in_removes_variables_until_an_empty_line_forgets_them() -> None:
    text = b'[Service]\nUnsetEnvironment=A "B=two words"\nUnsetEnvironment=C\n'
    assert drop_in_removals(text) == ("A", "B=two words", "C")
    assert drop_in_removals(text + b"UnsetEnvironment=\nUnsetEnvironment=D\n") == ("D",)


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


OURS = PurePosixPath("/etc/systemd/system/kubelet.service.d/20-nodenet.conf")
LATER = PurePosixPath("/etc/systemd/system/kubelet.service.d/99-site.conf")
FILE = PurePosixPath("/etc/kubernetes/kubelet.env")
PUBLISHED = PublishedFile(OURS, b'[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.5"\n')


def told(seen: UnitEnvironment, contents: dict[PurePosixPath, bytes | None]) -> list[str]:
    return [str(each) for each in overrides("kubelet.service", PUBLISHED, seen, contents)]


def test_a_unit_that_starts_with_what_is_published_has_no_override() -> None:
    assert told(UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.5"}, drop_ins=(OURS,)), {}) == []


def test_a_drop_in_that_systemd_has_not_read() -> None:
    assert told(UnitEnvironment({}), {}) == ["kubelet.service starts without KUBELET_NODE_IP=192.0.2.5"]


def test_a_later_drop_in_is_named() -> None:
    seen = UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.9"}, drop_ins=(OURS, LATER))
    assert told(seen, {LATER: b"[Service]\nEnvironment=KUBELET_NODE_IP=192.0.2.9\n"}) == [
        f"kubelet.service starts with 192.0.2.9 instead of KUBELET_NODE_IP=192.0.2.5 ({LATER} sets it)"
    ]


def test_an_environment_file_outranks_every_drop_in() -> None:
    seen = UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.5"}, files=(FILE,), drop_ins=(OURS,))
    assert told(seen, {FILE: b"KUBELET_NODE_IP=192.0.2.7\n"}) == [
        f"kubelet.service starts with 192.0.2.7 instead of KUBELET_NODE_IP=192.0.2.5 ({FILE} sets it)"
    ]


def test_the_last_environment_file_decides() -> None:
    """One that sets what is published overrides the one before it and every drop-in (S2)."""
    other = PurePosixPath("/etc/kubernetes/other.env")
    seen = UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.9"}, files=(FILE, other), drop_ins=(OURS, LATER))
    contents: dict[PurePosixPath, bytes | None] = {FILE: b"KUBELET_NODE_IP=192.0.2.7\n", other: b"A=1\n"}
    (found,) = told(seen, contents)
    assert found.endswith(f"({FILE} sets it)")
    assert told(seen, {**contents, other: b"KUBELET_NODE_IP=192.0.2.5\n"}) == []


@pytest.mark.parametrize("removal", ["KUBELET_NODE_IP", "KUBELET_NODE_IP=192.0.2.5"])
def test_a_variable_that_a_drop_in_unsets_is_not_there(removal: str) -> None:
    """UnsetEnvironment= is the last step, whichever drop-in has it and whatever sets the variable (systemd.exec(5))."""
    early = PurePosixPath("/etc/systemd/system/kubelet.service.d/10-site.conf")
    seen = UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.5"}, drop_ins=(early, OURS), removals=(removal,))
    text = f"[Service]\nUnsetEnvironment={removal}\n".encode()
    cause = "kubelet.service starts without KUBELET_NODE_IP=192.0.2.5"
    assert told(seen, {early: text}) == [f"{cause} ({early} unsets it)"]
    assert told(seen, {early: b""}) == [f"{cause} (another drop-in changes it)"]
    from_file = replace(seen, variables={}, files=(FILE,))
    assert told(from_file, {early: text, FILE: b"KUBELET_NODE_IP=192.0.2.5\n"}) == [f"{cause} ({early} unsets it)"]


def test_a_removal_of_another_value_or_variable_changes_nothing() -> None:
    removals = ("KUBELET_NODE_IP=192.0.2.9", "KUBELET_NODE_IPS", "OTHER")
    assert told(UnitEnvironment({"KUBELET_NODE_IP": "192.0.2.5"}, drop_ins=(OURS,), removals=removals), {}) == []
