"""The hostname stage: nobody waits for a name that no file asks for."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeHost
from nodenet.core.facts import Facts
from nodenet.core.outcome import Done, Skipped, Topic, Waiting
from nodenet.stages.hostname import HostnameStage

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
SPECIFIC = FakeFiles({str(DIRECTORY / "worker-0.yml"): b""})


async def test_the_name_is_normalised_and_made_to_last() -> None:
    """Case and the trailing dot go."""
    host = FakeHost("Worker-0.Example.com.")
    outcome = await HostnameStage(host, SPECIFIC, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Done)
    assert outcome.facts.hostname == "worker-0.example.com"
    assert host.pinned == ["worker-0.example.com"]


@pytest.mark.parametrize("name", ["", "localhost", "localhost.localdomain", "../x", "a" * 64])
async def test_an_unusable_name_is_waited_out(name: str) -> None:
    """By hostnamed's signal; the reason quotes what is there now, and nothing is pinned."""
    host = FakeHost(name)
    outcome = await HostnameStage(host, SPECIFIC, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Waiting)
    assert Topic.HOSTNAME in outcome.topics
    assert repr(name) in outcome.reason
    assert host.pinned == []


@pytest.mark.parametrize("names", [(), ("cluster.yml",), ("applied", "cluster.yaml")])
async def test_without_a_host_specific_file_nobody_waits(names: tuple[str, ...]) -> None:
    """Not even for localhost; and nothing is pinned."""
    files = FakeFiles({str(DIRECTORY / name): b"" for name in names})
    host = FakeHost("localhost")
    outcome = await HostnameStage(host, files, DIRECTORY).attempt(Facts())
    assert isinstance(outcome, Skipped)
    assert outcome.facts.hostname is None
    assert host.pinned == []
