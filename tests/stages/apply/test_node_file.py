"""The judge of a reload: it sees what the stage nmstate would see, and touches nothing."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeNmstate
from nodenet.core.boot.facts import Facts
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.apply.node_file import NodeFiles

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FILE = str(DIRECTORY / "worker-0.yml")
TEXT = b"interfaces:\n- name: eth0\n  type: ethernet\n  802.1x: {password: hunter2}\n"
NAMED = Facts(hostname="worker-0")


def judge(content: bytes | None, nmstate: FakeNmstate | None = None) -> tuple[NodeFiles, FakeNmstate]:
    fake = nmstate or FakeNmstate()
    files = FakeFiles({} if content is None else {FILE: content})
    return NodeFiles(files, fake, DIRECTORY), fake


async def test_a_file_that_libnmstate_takes_is_good() -> None:
    """Only read: no difference, no apply."""
    good, nmstate = judge(TEXT)
    await good.judge(NAMED)
    assert (nmstate.validated, nmstate.applied) == ([TEXT.decode()], [])
    before = Facts("worker-0", unused=("worker-0.yml", "comments"))
    assert good.on_disk(before) == Facts("worker-0", "worker-0.yml", hashlib.sha256(TEXT).hexdigest())


@pytest.mark.parametrize("content", [None, b"# nothing\n", TEXT], ids=["none", "comments", "in force"])
async def test_libnmstate_is_not_asked_where_nothing_new_is_to_be_judged(content: bytes | None) -> None:
    """A reload without an edit costs no child process."""
    good, nmstate = judge(content)
    await good.judge(Facts("worker-0", applied_digest=hashlib.sha256(content or b"").hexdigest()))
    assert nmstate.validated == []


async def test_two_files_for_this_node_are_refused() -> None:
    """The status shows both."""
    bad = NodeFiles(FakeFiles({FILE: TEXT, FILE.replace("yml", "yaml"): TEXT}), FakeNmstate(), DIRECTORY)
    with pytest.raises(NodeFileInvalid, match="both claim"):
        await bad.judge(NAMED)
    assert bad.on_disk(NAMED).node_file == "worker-0.yaml and worker-0.yml"


@pytest.mark.parametrize(("content", "words"), [(b"\xff", "UTF-8"), (b"- eth0\n", "mapping"), (b"a: [", "line")])
async def test_a_file_that_cannot_be_read_is_refused(content: bytes, words: str) -> None:
    """By our own look, with its name."""
    bad, _ = judge(content)
    with pytest.raises(NodeFileInvalid, match=rf"worker-0\.yml.*{words}"):
        await bad.judge(NAMED)
    assert bad.on_disk(NAMED).node_file == "worker-0.yml"


async def test_a_file_that_libnmstate_refuses_is_refused_without_its_secrets() -> None:
    """What says nothing about the file is left to the stage, which tries again."""
    bad, nmstate = judge(TEXT, FakeNmstate(invalid=NmstateFailure(FailureKind.INVALID, "not with hunter2")))
    with pytest.raises(NodeFileInvalid, match=r"worker-0\.yml: libnmstate reports: not with <hidden>"):
        await bad.judge(NAMED)
    nmstate.invalid = NmstateFailure(FailureKind.MISSING, "No module named libnmstate")
    with pytest.raises(LibnmstateMissing):
        await bad.judge(NAMED)
    nmstate.invalid = NmstateFailure(FailureKind.DIED, "signal 9")
    await bad.judge(NAMED)
