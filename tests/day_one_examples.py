"""The examples of the rules of day one: written into a folder, and checked as a user would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FILE = Path(__file__).parents[1] / "fixtures" / "day_one" / "rules.yaml"


@dataclass(frozen=True, slots=True)
class Example:
    """Why one rule exists, and its two examples; *also* are rules that the bad one breaks by necessity, too."""

    why: str
    bad: Mapping[str, str]
    good: Mapping[str, str]
    options: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def read() -> dict[str, Example]:
    """Return name of the rule → its examples."""
    found: dict[str, dict[str, Any]] = YAML(typ="safe", pure=True).load(FILE.read_text())["rules"]
    return {
        name: Example(
            each["why"], each["bad"], each["good"], tuple(each.get("options", ())), tuple(each.get("also", ()))
        )
        for name, each in found.items()
    }


def write(files: Mapping[str, str], directory: Path) -> None:
    """Write the files of one example below *directory*."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text == "@link-to-nowhere":
            path.symlink_to("nowhere")
        else:
            path.write_text(_filled(text), encoding="utf-8")


def _filled(text: str) -> str:
    nothing = "interfaces:\n- name: enp2s0\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    dhcp: true\n"
    if text == "@large":
        return nothing + "#" * (1 << 20)
    if text == "@padded":
        return nothing + "#" * (600 << 10) + "\n"
    return nothing if text == "@changing" else text


def words(example: Example, directory: Path) -> list[str]:
    """Return the arguments of `nodenetctl` that check an example in *directory*."""
    options = [
        word if word.startswith("-") or word in ("first", "second") else str(directory / word)
        for word in example.options
    ]
    return ["day-one", "check", str(directory / "nodes"), *options]
