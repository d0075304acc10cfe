"""`nodenetctl explain`: one topic each, named in the help."""

from __future__ import annotations

import pytest

from cli.test_main import nodenetctl
from nodenet.cli.explain import TOPICS


def test_the_topics_are_listed_with_their_lines() -> None:
    listed = " ".join(nodenetctl("explain", "--help").stdout.split())
    assert all(f"{topic} {line}" in listed for topic, (line, _) in TOPICS.items())


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_its_own_help(topic: str) -> None:
    done = nodenetctl("explain", topic, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: nodenetctl explain {topic} ")


@pytest.mark.parametrize("words", [(), ("weather",)], ids=str)
def test_another_topic_is_64_and_the_topics_are_named(words: tuple[str, ...]) -> None:
    done = nodenetctl("explain", *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("usage: nodenetctl explain ")
