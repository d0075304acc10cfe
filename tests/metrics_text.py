"""The text format of Prometheus, read strictly: each sample below the head of its family, each family once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nodenet.core.metrics import Family, Kind

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (-?\d+(?:\.\d+)?)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SUFFIXES = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: the name of the family, the labels and the value."""

    family: str
    labels: tuple[tuple[str, str], ...]
    value: float

    def __getitem__(self, label: str) -> str:
        return dict(self.labels)[label]


def parsed(text: str, families: Iterable[Family]) -> list[Sample]:
    """Return the samples of *text*. Asserts that the format is kept and that everything is one of *families*."""
    known = {family.name: family for family in families}
    assert text.endswith("\n")
    samples: list[Sample] = []
    begun: list[str] = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in begun, line
            begun.append(name)
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {begun[-1]} {known[begun[-1]].kind}"
        else:
            samples.append(_sample(line, known[begun[-1]]))
    keys = [(one.family, one.labels) for one in samples if known[one.family].kind is not Kind.HISTOGRAM]
    assert len(keys) == len(set(keys)), "a sample comes twice"
    return samples


def _sample(line: str, family: Family) -> Sample:
    found = _SAMPLE.fullmatch(line)
    assert found, line
    name, inner, value = found[1], found[2] or "", found[3]
    labels = tuple(_LABEL.findall(inner))
    assert ",".join(f'{key}="{text}"' for key, text in labels) == inner, line
    suffix = next((one for one in SUFFIXES if name.endswith(one)), "") if family.kind is Kind.HISTOGRAM else ""
    assert name.removesuffix(suffix) == family.name, line
    names = tuple(key for key, _ in labels)
    assert names == family.labels + (("le",) if suffix == "_bucket" else ()), line
    return Sample(family.name, labels, float(value))
