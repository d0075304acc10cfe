"""The hostname stage: who waits for a valid name, and what becomes of it."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from fakes import FakeFiles, FakeHost, FakeLeaseNames
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Skipped, Topic, Waiting
from nodenet.core.boot.request import Request
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import NotAFile
from nodenet.core.hostname.sources import Origin, Source
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.stages.hostname import HostnameStage

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
SPECIFIC = FakeFiles({str(DIRECTORY / "worker-0.yml"): b""})


async def test_the_name_is_normalised_and_made_to_last() -> None:
    """Case and the trailing dot go."""
    host = FakeHost("Worker-0.Example.com.")
    outcome = await HostnameStage(host, FakeLeaseNames(), SPECIFIC, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == "worker-0.example.com"
    assert host.pinned == ["worker-0.example.com"]


@pytest.mark.parametrize("name", ["", "localhost", "localhost.localdomain", "localhost6", "../x"])
async def test_an_unusable_name_is_waited_out(name: str) -> None:
    """By hostnamed's signal; the reason quotes what is there now, and nothing is pinned."""
    host = FakeHost(name)
    outcome = await HostnameStage(host, FakeLeaseNames(), SPECIFIC, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert not outcome.aside
    assert Topic.HOSTNAME in outcome.topics
    assert repr(name) in outcome.reason
    assert host.pinned == []


@pytest.mark.parametrize("names", [(), ("cluster.yml",), ("applied", "cluster.yaml")])
async def test_without_a_host_specific_file_only_kubelet_waits(names: tuple[str, ...]) -> None:
    """It would register the node as localhost; the other stages go on, and nothing is pinned (R32)."""
    files = FakeFiles({str(DIRECTORY / name): b"" for name in names})
    host = FakeHost("localhost")
    outcome = await HostnameStage(host, FakeLeaseNames(), files, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert outcome.aside
    assert outcome.reason == (
        "a valid host name: 'localhost' is not one, it only means that the real name is not known yet "
        "(`hostnamectl hostname NAME`, or a name by DHCP or reverse DNS)"
    )
    assert host.pinned == []


async def test_a_name_that_is_too_long_is_shortened_and_made_to_last() -> None:
    """Its first part counts, 63 characters of it."""
    host = FakeHost(f"{'a' * 60}.{'b' * 10}.example.com")
    outcome = await HostnameStage(host, FakeLeaseNames(), SPECIFIC, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Done)
    assert host.pinned == ["a" * 60]


async def test_a_name_is_made_to_last_before_any_link_is_moved_also_where_no_file_needs_it() -> None:
    """A bridge that takes over the lease must not take the name away from kubelet."""
    host = FakeHost("worker-0")
    outcome = await HostnameStage(host, FakeLeaseNames(), FakeFiles(), DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Done)
    assert host.pinned == ["worker-0"]


async def test_a_name_that_comes_late_is_taken() -> None:
    """By signal."""
    host = FakeHost("localhost")
    stage = HostnameStage(host, FakeLeaseNames(), FakeFiles(), DIRECTORY)
    first = await stage.attempt(Facts())
    assert isinstance(first, Waiting)
    assert Topic.HOSTNAME in first.topics
    host.named = "worker-0"
    assert isinstance(await stage.attempt(Facts()), Done)
    assert host.pinned == ["worker-0"]


async def test_a_host_that_is_renamed_keeps_its_node_name_until_a_reload() -> None:
    """One line tells of it; nothing is pinned anew."""
    host = FakeHost("worker-0")
    stage = HostnameStage(host, FakeLeaseNames(), SPECIFIC, DIRECTORY)
    first = await stage.attempt(Facts())
    assert isinstance(first, Done)
    host.named = "worker-9"
    second = await stage.attempt(first.facts)
    assert isinstance(second, Done)
    assert (second.message, second.facts.hostname) == (Message.HOSTNAME_CHANGED, "worker-0")
    assert "worker-9" in second.detail
    assert host.pinned == ["worker-0"]
    reloaded = await stage.attempt(second.facts, Request(1))
    assert isinstance(reloaded, Done)
    assert reloaded.facts.hostname == "worker-9"


async def test_the_name_that_systemd_made_up_is_no_name() -> None:
    """A distribution may call every host `fedora`."""
    files = FakeFiles({**SPECIFIC.content, "/run/systemd/default-hostname": b"fedora\n"})
    outcome = await HostnameStage(FakeHost("fedora"), FakeLeaseNames(), files, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert "while it knows none" in outcome.reason


FQDN = Source(Origin.DHCP6_FQDN, "eth0", "worker-0.example.com")


@pytest.mark.parametrize(
    ("static", "name"),
    [(b"", "worker-0.example.com"), (b"localhost.localdomain\n", "worker-0.example.com"), (b"# x\nkept\n", "kept")],
)
async def test_a_full_name_by_dhcpv6_outranks_what_is_in_force_and_not_a_static_name(static: bytes, name: str) -> None:
    """What is pinned stays, so it must not be the short name that came first."""
    files = FakeFiles({"/etc/hostname": static})
    outcome = await HostnameStage(FakeHost("worker-0"), FakeLeaseNames((FQDN,)), files, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == name


@pytest.mark.parametrize("static", [b"worker-0\n", b"# kept by hand\nWorker-0\n"])
async def test_a_name_that_lasts_already_needs_nobody_to_make_it_last(static: bytes) -> None:
    """Without a bus that would only be a warning about nothing."""
    files = FakeFiles({"/etc/hostname": static})
    host = FakeHost("worker-0")
    assert isinstance(await HostnameStage(host, FakeLeaseNames(), files, DIRECTORY).attempt(Facts()), Done)
    assert host.pinned == []


async def test_a_rename_is_not_taken_by_a_run_of_another_stage() -> None:
    """`nodenetctl bridge make` begins a run of configure-ovs: the name is compared as before (R30)."""
    host = FakeHost("worker-0")
    stage = HostnameStage(host, FakeLeaseNames(), SPECIFIC, DIRECTORY)
    boot, facts = new_boot({}, degrade=True), Facts()
    for name in StageName:
        outcome: Outcome = Skipped("", facts)
        if name is StageName.HOSTNAME:
            outcome = await stage.attempt(facts, boot[name].request)
        boot = boot.begun(name, 1.0).after(name, outcome, 2.0)
        facts = outcome.facts or facts
    boot = boot.again_from(StageName.CONFIGURE_OVS, Request(1, by_name=True))
    host.named = "worker-9"
    outcome = await stage.attempt(facts, boot[StageName.HOSTNAME].request)
    assert isinstance(outcome, Done)
    assert (outcome.message, outcome.facts.hostname) == (Message.HOSTNAME_CHANGED, "worker-0")
    assert host.pinned == ["worker-0"]


async def test_a_directory_in_the_place_of_the_static_name_says_nothing() -> None:
    """A container runtime makes one for a mount of a file that does not exist; kubelet starts all the same (R15)."""
    wrong = NotAFile("/etc/hostname cannot be read: Is a directory", remedy="Remove this directory")
    stage = HostnameStage(FakeHost(), FakeLeaseNames(), FakeFiles(bad={"/etc/hostname": wrong}), DIRECTORY)
    with capture_logs() as logs:
        for run in (0, 1):
            outcome = await stage.attempt(Facts(), Request(run))
            assert isinstance(outcome, Done)
            assert outcome.facts.hostname == "worker-0"
    assert [entry["event"] for entry in logs] == ["/etc/hostname cannot be read: Is a directory. Remove this directory"]
