"""Which published variables a unit does not start with, and which file sets another value."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from nodenet.core.node_ip.published_files import PublishedFile, UnitEnvironment, overrides

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
