"""Does the last check before READY let kubelet start with what the stage itself accepted?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeKernel, FakeSystemd
from node_ip_rig import KUBELET, OTHER, PRIMARY, V4, V6, Rig, host
from nodenet.core.boot.outcome import Done, Facts, Problem, Waiting
from nodenet.core.errors import PublishFailed
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import AddressFlag
from nodenet.core.messages import Message
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import PolicyReading
from nodenet.core.node_ip.published_files import IPV4, REMOTE_WORKER, RUN, UnitEnvironment
from nodenet.stages.node_ip.stage import BACK_SECONDS


async def test_a_kept_publication_whose_address_is_gone_is_confirmed() -> None:
    """Kubelet runs with it: READY comes, and the loss is drift; once kubelet has ended, READY waits again."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    await rig.published()
    rig.systemd.running = {"kubelet.service"}
    rig.kernel.now = host()
    rig.restart()
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += BACK_SECONDS
    facts = await rig.published()
    assert await rig.stage.confirm(facts) is None
    assert await rig.stage.confirm_of_unit(facts) is None
    assert rig.stage.drift(facts)
    rig.systemd.running = set()
    assert await rig.stage.confirm(facts) == "Node IP 192.0.2.5 is missing (eth0: no address)"
    assert await rig.stage.confirm_of_unit(facts) == "Node IP 192.0.2.5 is missing (eth0: no address)"


async def test_an_address_that_goes_while_systemd_is_asked_is_missed() -> None:
    """READY follows the look at the kernel at once: a busy systemd may take seconds (R13)."""

    class Busy(FakeSystemd):
        async def environment(self, unit: str) -> UnitEnvironment | None:
            found = await super().environment(unit)
            rig.kernel.now = host()
            return found

    rig = Rig(FakeKernel(host(V4)), systemd=Busy()).with_units()
    facts = await rig.published()
    rig.kernel.now = host(V4)
    assert await rig.stage.confirm(facts) == "Node IP 192.0.2.5 is missing (eth0: no address)"


async def test_a_kept_publication_of_the_replaced_tools_is_confirmed() -> None:
    """Their files are left as they are, also where another address would be selected now."""
    rig = Rig(FakeKernel(host(V4, OTHER)))
    rig.wishes = PolicyReading(Policy(families=(Family.IPV4,), api_vips=(OTHER.address,)))
    theirs = b'[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.6"\n'
    rig.files.content |= {PRIMARY: b"192.0.2.6", KUBELET: theirs}
    rig.systemd.running = {"kubelet.service"}
    facts = await rig.with_units().published()
    assert facts.selection
    assert facts.selection.node_ips == (OTHER.address,)
    assert rig.files.content[KUBELET] == theirs
    assert await rig.stage.confirm(facts) is None


class MountedOver(FakeFiles):
    """A disk on which /run/nodeip-configuration/ipv4 is a mount point."""

    def write(self, path: PurePosixPath, content: bytes, mode: int = 0o644) -> bool:  # type: ignore[override]
        if path == IPV4:
            raise PublishFailed(f"{path} cannot be written: Device or resource busy", remedy="Unmount it")
        return super().write(path, content, mode)


@pytest.mark.parametrize("files", [MountedOver(), MountedOver({str(IPV4): b"192.0.2.99"})], ids=["none", "other"])
async def test_a_file_that_cannot_be_written_and_that_systemd_does_not_read_leaves_ready(files: FakeFiles) -> None:
    """The node is degraded for it; kubelet starts. A file that another program changes is still noticed."""
    rig = Rig(FakeKernel(host(V4)), files).with_units()
    outcome = await rig.stage.attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.PUBLISH_FAILED
    assert await rig.stage.confirm(outcome.facts) is None
    files.content[PRIMARY] = b"192.0.2.9"
    assert await rig.stage.confirm(outcome.facts) == f"{PRIMARY} was changed by another program"


def directory_at(path: PurePosixPath | str) -> PublishFailed:
    return PublishFailed(f"{path} cannot be written: Is a directory", remedy="Remove this directory")


@pytest.mark.parametrize("path", [RUN / "primary-ip", IPV4, REMOTE_WORKER])
async def test_a_directory_in_the_place_of_a_file_that_systemd_does_not_read_is_one_problem(
    path: PurePosixPath,
) -> None:
    """The node is degraded for it, with the path and the remedy; kubelet starts, and the next attempt says the same."""
    rig = Rig(FakeKernel(host(V4)), FakeFiles(bad={str(path): directory_at(path)})).with_units()
    remedy = "Remove this directory; then run `nodenetctl reload --wait`"
    for _ in range(2):
        outcome = await rig.attempt()
        assert isinstance(outcome, Done)
        cause = f"{path} cannot be written: Is a directory"
        assert outcome.problem == Problem(Message.PUBLISH_FAILED, cause, remedy)
        assert await rig.stage.confirm(outcome.facts) is None


async def test_a_directory_in_the_place_of_a_drop_in_holds_kubelet_back() -> None:
    """Without it kubelet would start with an address of its own choice."""
    rig = Rig(FakeKernel(host(V4)), FakeFiles(bad={KUBELET: directory_at(KUBELET)})).with_units()
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == (
        f"{KUBELET} cannot be written: Is a directory; kubelet must not start with the address of an earlier boot"
    )


async def test_a_directory_in_the_place_of_the_flag_leaves_what_kubelet_runs_with() -> None:
    """The daemon was started again, and the address is gone: the flag is there, whatever it is."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    await rig.published()
    rig.systemd.running, rig.kernel.now = {"kubelet.service"}, host()
    rig.files.content[str(REMOTE_WORKER)] = b""
    rig.files.bad[str(REMOTE_WORKER)] = directory_at(REMOTE_WORKER)
    rig.restart()
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += BACK_SECONDS
    selection = (await rig.published()).selection
    assert selection
    assert (selection.node_ips, selection.remote_worker) == ((V4.address,), True)


async def test_an_address_whose_duplicate_detection_failed_is_not_confirmed() -> None:
    """The kernel keeps it in its list, but kubelet could not listen on it."""
    rig = Rig(FakeKernel(host(V4, V6)), wishes=PolicyReading(Policy(families=(Family.IPV6,)))).with_units()
    facts = await rig.published()
    assert await rig.stage.confirm(facts) is None
    rig.kernel.now = host(V4, replace(V6, flags=frozenset({AddressFlag.DAD_FAILED})))
    assert await rig.stage.confirm(facts) == (
        "Node IP 2001:db8::5 is also the address of another host (eth0: dadfailed)"
    )
