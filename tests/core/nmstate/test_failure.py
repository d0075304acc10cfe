"""How did a call of libnmstate fail, and what does its child process answer?"""

from __future__ import annotations

import pytest

from nodenet.core.nmstate.failure import Answer, FailureKind, NmstateFailure, answer_of, checkpoint_of, shaped


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_a_remedy(kind: FailureKind) -> None:
    assert NmstateFailure(kind, "x").remedy


def test_the_words_that_were_translated_are_kept() -> None:
    failure = NmstateFailure(FailureKind.INVALID, "`name` is missing", "Add it", "missing field `name`")
    assert (failure.cause, failure.remedy, failure.said) == ("`name` is missing", "Add it", "missing field `name`")
    assert NmstateFailure(FailureKind.INVALID, "x").said == "x"


def test_a_whole_answer_is_a_result_or_a_failure() -> None:
    line = b'{"result": [1], "elsewhere": 0.5, "said": ["a"]}\n'
    assert answer_of(line) == Answer([1], 0.5, None, ("a",))
    line = b'{"kind": "invalid", "text": "t", "elsewhere": 0, "said": []}\n'
    assert answer_of(line) == Answer(None, 0.0, (FailureKind.INVALID, "t"))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b'{"result": {"interfaces": [{"name": "eth0"}, ',
        b'{"result": 1, "elsewhere": 0, "said": []}',
        b"[1]\n",
        b'{"result": 1}\n',
        b'{"kind": "nonsense", "text": "", "elsewhere": 0, "said": []}\n',
        b'{"result": 1, "elsewhere": "soon", "said": []}\n',
        b"\xff\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=lambda line: str(line[:20]),
)
def test_half_an_answer_is_none(line: bytes) -> None:
    """The process was killed while it wrote (R45)."""
    assert answer_of(line) is None


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"checkpoint": "/cp/1"}\n', "/cp/1"),
        (b'{"checkpoint": "/cp/1"}', None),
        (b'{"checkpoint": "/cp\n', None),
        (b'{"checkpoint": /cp/1}\n', None),
        (b'{"result": {"checkpoint": "/cp/1"}}\n', None),
        (b"", None),
    ],
)
def test_a_whole_line_about_a_checkpoint_is_no_answer_yet(line: bytes, path: str | None) -> None:
    assert checkpoint_of(line) == path
    assert answer_of(line) is None


def test_a_state_has_an_outline() -> None:
    assert shaped({"interfaces": [{"name": "a"}], "routes": None}) == {"interfaces": [{"name": "a"}]}


@pytest.mark.parametrize(
    ("state", "part"),
    [
        ([], "the document"),
        ({"interfaces": {}}, "`interfaces`"),
        ({"interfaces": ["eth0"]}, "`interfaces`"),
        ({"routes": []}, "`routes`"),
        ({"routes": {"config": [1]}}, "`routes.config`"),
    ],
)
def test_what_is_no_state_is_an_error_that_names_the_part(state: object, part: str) -> None:
    with pytest.raises(NmstateFailure) as caught:
        shaped(state)
    assert caught.value.cause == f"libnmstate's answer is not an NMState document: see {part}"
    assert caught.value.kind is FailureKind.INTERNAL
