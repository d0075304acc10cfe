"""The hostname stage: who waits for a valid name, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from fakes import FakeFiles, FakeHost, FakeKernel, FakeLeaseNames, FakeSystemd, stage_edges
from nodenet.core.boot.outcome import Done, Facts, Outcome, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import NotAFile
from nodenet.core.hostname import Origin, Source
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.stages.hostname import HostnameStage

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
SPECIFIC = FakeFiles({str(DIRECTORY / "worker-0.yml"): b""})


def made(  # noqa: PLR0913  (its edges)
    host: FakeHost,
    leases: FakeLeaseNames,
    files: FakeFiles,
    kernel: FakeKernel | None = None,
    *,
    dhcpv6: bool = False,
    systemd: FakeSystemd | None = None,
) -> HostnameStage:
    systemd = systemd or FakeSystemd()
    edges = stage_edges(host=host, leases=leases, files=files, kernel=kernel or FakeKernel(), systemd=systemd)
    return HostnameStage(edges, Settings(node_file_dir=str(DIRECTORY), dhcpv6_hostname=dhcpv6))


async def test_the_name_is_normalised_and_not_made_to_last() -> None:
    """Case and the trailing dot go."""
    host = FakeHost("Worker-0.Example.com.")
    outcome = await made(host, FakeLeaseNames(), SPECIFIC).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == "worker-0.example.com"
    assert host.taken == ["worker-0.example.com"]


@pytest.mark.parametrize("name", ["", "localhost", "localhost.localdomain", "localhost6", "../x"])
async def test_an_unusable_name_is_waited_out(name: str) -> None:
    """By hostnamed's signal; the reason quotes what is there now, and nothing is set."""
    host = FakeHost(name)
    outcome = await made(host, FakeLeaseNames(), SPECIFIC).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert not outcome.aside
    assert Topic.HOSTNAME in outcome.topics
    assert repr(name) in outcome.reason
    assert host.taken == []


@pytest.mark.parametrize("names", [(), ("cluster.yml",), ("applied", "cluster.yaml")])
async def test_without_a_host_specific_file_only_kubelet_waits(names: tuple[str, ...]) -> None:
    """It would register the node as localhost; the other stages go on, and nothing is set (R32)."""
    files = FakeFiles({str(DIRECTORY / name): b"" for name in names})
    host = FakeHost("localhost")
    outcome = await made(host, FakeLeaseNames(), files).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert outcome.aside
    assert outcome.reason == (
        "a valid host name: 'localhost' is not one, it only means that the real name is not known yet "
        "(`hostnamectl hostname NAME`, or a name by DHCP or reverse DNS)"
    )
    assert host.taken == []


async def test_a_name_that_is_too_long_is_shortened() -> None:
    """Its first part counts, 63 characters of it."""
    host = FakeHost(f"{'a' * 60}.{'b' * 10}.example.com")
    outcome = await made(host, FakeLeaseNames(), SPECIFIC).attempt(Facts())
    assert isinstance(outcome, Done)
    assert host.taken == ["a" * 60]


async def test_a_name_that_comes_late_is_taken() -> None:
    """By signal."""
    host = FakeHost("localhost")
    stage = made(host, FakeLeaseNames(), FakeFiles())
    first = await stage.attempt(Facts())
    assert isinstance(first, Waiting)
    assert Topic.HOSTNAME in first.topics
    host.named = "worker-0"
    assert isinstance(await stage.attempt(Facts()), Done)
    assert host.taken == []


async def test_a_host_that_is_renamed_keeps_its_node_name_until_a_reload() -> None:
    """One line tells of it; nothing is set."""
    host = FakeHost("worker-0")
    stage = made(host, FakeLeaseNames(), SPECIFIC)
    first = await stage.attempt(Facts())
    assert isinstance(first, Done)
    host.named = "worker-9"
    second = await stage.attempt(first.facts)
    assert isinstance(second, Done)
    assert (second.message, second.facts.hostname) == (Message.HOSTNAME_CHANGED, "worker-0")
    assert "worker-9" in second.detail
    assert host.taken == []
    reloaded = await stage.attempt(second.facts, Request(1))
    assert isinstance(reloaded, Done)
    assert reloaded.facts.hostname == "worker-9"


async def test_the_name_that_systemd_made_up_is_no_name() -> None:
    """A distribution may call every host `fedora`."""
    files = FakeFiles({**SPECIFIC.content, "/run/systemd/default-hostname": b"fedora\n"})
    outcome = await made(FakeHost("fedora"), FakeLeaseNames(), files).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert "while it knows none" in outcome.reason


FQDN = Source(Origin.DHCP6_FQDN, "eth0", "worker-0.example.com")


@pytest.mark.parametrize(
    ("static", "name"),
    [(b"", "worker-0.example.com"), (b"localhost.localdomain\n", "worker-0.example.com"), (b"# x\nkept\n", "kept")],
)
async def test_a_full_name_by_dhcpv6_outranks_what_is_in_force_and_not_a_static_name(static: bytes, name: str) -> None:
    """Where a setting allows names by DHCPv6; it may be the full form of the short name that came first."""
    files = FakeFiles({"/etc/hostname": static})
    outcome = await made(FakeHost("worker-0"), FakeLeaseNames((FQDN,)), files, dhcpv6=True).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == name


@pytest.mark.parametrize("static", [b"worker-0\n", b"# kept by hand\nWorker-0\n"])
async def test_a_static_name_needs_no_bus(static: bytes) -> None:
    """Without a bus that would only be a warning about nothing."""
    files = FakeFiles({"/etc/hostname": static})
    host = FakeHost("worker-0")
    assert isinstance(await made(host, FakeLeaseNames(), files).attempt(Facts()), Done)
    assert host.taken == []


async def test_a_rename_is_not_taken_by_a_run_of_another_stage() -> None:
    """`nodenetctl bridge make` begins a run of configure-ovs: the name is compared as before (R30)."""
    host = FakeHost("worker-0")
    stage = made(host, FakeLeaseNames(), SPECIFIC)
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
    assert host.taken == []


async def test_a_directory_in_the_place_of_the_static_name_says_nothing() -> None:
    """A container runtime makes one for a mount of a file that does not exist; kubelet starts all the same (R15)."""
    wrong = NotAFile("/etc/hostname cannot be read: Is a directory", remedy="Remove this directory")
    stage = made(FakeHost(), FakeLeaseNames(), FakeFiles(bad={"/etc/hostname": wrong}))
    with capture_logs() as logs:
        for run in (0, 1):
            outcome = await stage.attempt(Facts(), Request(run))
            assert isinstance(outcome, Done)
            assert outcome.facts.hostname == "worker-0"
    assert [entry["event"] for entry in logs] == ["/etc/hostname cannot be read: Is a directory. Remove this directory"]


ROGUE = Source(Origin.DHCP6_FQDN, "eth0: DHCP6 fqdn_fqdn", "master-0.example.com")
LEASED = Source(Origin.DHCP, "eth0: DHCP4 host_name", "worker-8")


@pytest.mark.parametrize(
    ("kernel", "leases", "name"),
    [
        ("localhost", (ROGUE,), None),
        ("master-0", (ROGUE,), None),  # NetworkManager took it
        ("master-0", (ROGUE, LEASED), "worker-8"),
        ("worker-8", (ROGUE, LEASED), "worker-8"),
        ("master-0", (ROGUE, replace(LEASED, value="master-0")), "master-0"),
        ("localhost", (LEASED,), "worker-8"),
    ],
)
async def test_a_name_by_dhcpv6_counts_only_where_a_setting_allows_it(
    kernel: str, leases: tuple[Source, ...], name: str | None
) -> None:
    """One answer of any host of the LAN gave a node another one's identity (rule 18)."""
    host = FakeHost(kernel)
    outcome = await made(host, FakeLeaseNames(leases), SPECIFIC).attempt(Facts())
    if name is None:
        assert isinstance(outcome, Waiting)
        assert host.taken == []
        return
    assert isinstance(outcome, Done)
    assert (outcome.facts.hostname, host.named) == (name, name)
    assert outcome.facts.hostname_source == "by eth0: DHCP4 host_name"


@pytest.mark.parametrize("static", [b"localhost\n", b"localhost.localdomain\n"])
async def test_localhost_in_the_file_is_no_name_and_dhcps_is_taken(static: bytes) -> None:
    """A golden image has it, and NetworkManager then sets no name by DHCP (rule 18)."""
    host, files = FakeHost("localhost"), FakeFiles({"/etc/hostname": static})
    outcome = await made(host, FakeLeaseNames((LEASED,)), files).attempt(Facts())
    assert isinstance(outcome, Done)
    assert (outcome.facts.hostname, host.taken, outcome.problem) == ("worker-8", ["worker-8"], None)


async def test_an_underscore_in_the_file_is_a_problem_and_the_name_of_the_system_is_taken() -> None:
    """Systemd itself makes worker1 of worker_1; a Node of that name could not register."""
    files = FakeFiles({"/etc/hostname": b"worker_1\n"})
    outcome = await made(FakeHost("worker1"), FakeLeaseNames(), files).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == "worker1"
    assert outcome.problem is not None
    assert outcome.problem.cause == (
        "/etc/hostname says 'worker_1': no host name has an underscore, and Kubernetes takes no Node of that name; "
        "this node is worker1"
    )


FILE = b"interfaces:\n- name: eth0\n  identifier: mac-address\n  mac-address: 52:54:00:00:00:0A\n"


@pytest.mark.parametrize(("mac", "static", "takes"), [("0a", b"", True), ("0b", b"", False), ("0b", b"worker-8", True)])
async def test_a_name_that_selects_a_file_of_other_macs_is_refused(mac: str, static: bytes, takes: bool) -> None:  # noqa: FBT001
    """Also where DHCPv4 gave it; not a static name, which an administrator has written (rule 18)."""
    files = FakeFiles({str(DIRECTORY / "worker-8.yml"): FILE, "/etc/hostname": static})
    kernel = FakeKernel(Snapshot(links=(Link(2, "eth0", mac=f"52:54:00:00:00:{mac}"),)))
    stage = made(FakeHost("worker-8"), FakeLeaseNames((LEASED,)), files, kernel)
    outcome = await stage.attempt(Facts())
    assert (await stage.name()) == ("worker-8" if takes else None)
    if takes:
        assert isinstance(outcome, Done)
        return
    assert isinstance(outcome, Waiting)
    assert outcome.reason.startswith(
        "a valid host name: 'worker-8' (by eth0: DHCP4 host_name) is another host's, "
        "worker-8.yml is for 52:54:00:00:00:0a"
    )


async def test_a_name_that_went_with_its_lease_is_given_to_the_host_again() -> None:
    """Kubelet asks the host for it, and the lease is away while the uplink moves to br-ex."""
    host, leases = FakeHost("localhost"), FakeLeaseNames((LEASED,))
    stage = made(host, leases, FakeFiles())
    first = await stage.attempt(Facts())
    assert isinstance(first, Done)
    for name, given in (("localhost", ()), ("master-0", (ROGUE,))):
        host.named, leases.given = name, given
        again = await stage.attempt(first.facts)
        assert isinstance(again, Done)
        assert (again.message, host.named) == (Message.HOSTNAME_KNOWN, "worker-8")


async def test_kubelet_waits_while_the_host_cannot_be_called_by_its_name() -> None:
    """It asks the host, and would register as localhost; only the form of a name that the host has may differ."""
    host = FakeHost("localhost", refuses="/etc is read-only")
    outcome = await made(host, FakeLeaseNames((LEASED,)), FakeFiles()).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert "the host cannot be called worker-8, and kubelet asks the host: /etc is read-only" in outcome.reason
    dotted = FakeHost("worker-8.", refuses="/etc is read-only")
    assert isinstance(await made(dotted, FakeLeaseNames(), FakeFiles()).attempt(Facts()), Done)


@pytest.mark.parametrize("kubelet_runs", [True, False])
async def test_a_reload_that_takes_another_name_under_a_running_kubelet(kubelet_runs: bool) -> None:  # noqa: FBT001
    """Kubelet keeps the name that it registered with; the next reload ends the problem, or the old name."""
    host, systemd = FakeHost("worker-0"), FakeSystemd()
    stage = made(host, FakeLeaseNames(), SPECIFIC, systemd=systemd)
    facts = (await stage.attempt(Facts(), Request(run=1))).facts or Facts()
    host.named = "worker-9"
    systemd.running = {"kubelet.service"} if kubelet_runs else set()
    for _ in range(2):
        outcome = await stage.attempt(facts, Request(run=2))
        assert isinstance(outcome, Done)
        facts = outcome.facts
        assert facts.hostname == "worker-9"
        assert (outcome.problem is not None) is kubelet_runs
        if outcome.problem:
            assert outcome.problem.cause.startswith("This node was worker-0 and is worker-9 since the reload")
    last = await stage.attempt(facts, Request(run=3))
    assert isinstance(last, Done)
    assert last.problem is None
