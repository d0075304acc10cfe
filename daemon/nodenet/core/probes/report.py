"""What did the probes of the last apply show? The document that `nodenetctl explain nmstate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.probes.questions import Answer, Look, Question
from nodenet.core.probes.verdict import Verdict

VERSION = 1
PATH = PurePosixPath("/run/nodenet/probes.json")
"""Where nodenetd writes it, readable for everybody."""


def report(file: str, before: Look, after: Look, found: Verdict, took: Mapping[Question, float]) -> dict[str, Any]:
    """Return the document, JSON-ready: *took* are the seconds of the last answer of each probe."""
    return {
        "schema_version": VERSION,
        "node_file": file,
        "kept": not found.failed,
        "failed": list(found.failed),
        "noted": list(found.noted),
        "probes": [*_rows("before", before, took), *_rows("after", after, took)],
    }


def _rows(when: str, look: Look, took: Mapping[Question, float]) -> Iterator[dict[str, Any]]:
    for question, answer in look.answers.items():
        seconds = None if answer is Answer.NOT_ASKED else took.get(question)
        yield {
            "when": when,
            "what": question.kind.value,
            "name": question.name,
            "link": question.link or None,
            "answer": answer.value,
            "seconds": None if seconds is None else round(seconds, 3),
        }
