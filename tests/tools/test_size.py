"""nodenet does not grow without a visible edit: tools/size.py has the ceilings and how to change them."""

from __future__ import annotations

from pathlib import Path

import pytest

import size


@pytest.mark.parametrize("measure", size.measures(), ids=lambda one: one.name)
def test_no_size_is_above_its_ceiling(measure: size.Measure) -> None:
    assert measure.size <= measure.ceiling, (
        f"{measure.name}: make it smaller, or raise the ceiling in tools/size.py and say why in the commit"
    )


def test_what_is_added_is_counted(tmp_path: Path) -> None:
    for path, text in {
        "daemon/nodenet/new.py": "one\ntwo\n",
        "tests/new.py": "one\n",
        "packaging/rpm/new.py": "one\ntwo\nthree\n",
        "docs/man/new.5": "four words of text",
        "packaging/requirements.txt": "# pure\na==1 \\\n    --hash=sha256:0\nb.c==2\n",
        "daemon/nodenet/__pycache__/old.py": "no\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [one.size for one in size.measures(tmp_path)] == [2, 1, 1, 3, 4, 2]
    assert size.median_module(tmp_path) == 2
