"""The kernel's answer to an order about a thing on a link."""

from __future__ import annotations

import struct

import pytest

from nodenet.core.ownership.messages import refusal


def test_the_answer_is_success_an_error_or_none() -> None:
    def answer(code: int, kind: int = 2) -> bytes:
        return struct.pack("=IHHIIi", 20, kind, 0, 1, 0, code)

    assert refusal(answer(0)) == 0
    assert refusal(answer(-99)) == 99
    for wrong in (b"", answer(0)[:18], answer(0, kind=20)):
        with pytest.raises(OSError, match="the kernel's answer to an order is none"):
            refusal(wrong)
