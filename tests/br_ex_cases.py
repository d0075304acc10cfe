"""Read the cases under ``fixtures/br_ex``: facts of a node, and what must come of them.

`python tests/br_ex_cases.py` writes every ``expected.json`` anew. Read the difference before you commit it: what
stands there is what a node will do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / "daemon")]

from nodenet.core.br_ex import facts_json as bridge_facts_json
from nodenet.core.br_ex.condition import Owner
from nodenet.core.br_ex.explain import conditions, explanation
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.plan import Plan, plan
from nodenet.core.br_ex.removal import removal
from nodenet.core.errors import UplinkRefused

CASES = Path(__file__).parents[1] / "fixtures" / "br_ex"
IN_ORDER = frozenset(
    {"address", "address-data", "dns-data", "dns-search", "dns-options", "server", "search", "options", "node_ips"}
)
"""Lists whose order means something; that of all others is chance."""


def directories() -> list[Path]:
    """Return the directory of every case."""
    return sorted(path for path in CASES.iterdir() if path.is_dir())


def facts_of(directory: Path) -> BridgeFacts:
    """Return the facts of a case."""
    return bridge_facts_json.parse((directory / "facts.json").read_bytes())


def expected_of(directory: Path) -> dict[str, Any]:
    """Return what must come of a case."""
    expected: dict[str, Any] = json.loads((directory / "expected.json").read_text())
    return expected


def told(facts: BridgeFacts) -> dict[str, Any]:
    """Return a plan, or its refusal, as expectations are written down."""
    try:
        made = plan(facts)
    except UplinkRefused as refusal:
        return {"refused": refusal.cause, "remedy": refusal.remedy}
    found = conditions(facts, made.uplinks)
    back = {"removal": removal(facts)} if any(each.owner is not Owner.NONE for each in found) else {}
    document: dict[str, Any] = json.loads(json.dumps(explanation(made, found)))
    return {key: value for key, value in document.items() if value and key != "schema_version"} | back


def documents(made: Plan) -> list[dict[str, Any]]:
    """Return the NMState documents of a plan."""
    return [document for document in (made.document, made.document_with_lease) if document is not None]


def shuffled(value: Any, chance: Random, key: str = "") -> Any:
    """Return the same JSON as it might be written another time."""
    if isinstance(value, dict):
        names = chance.sample(sorted(value), len(value))
        return {name: shuffled(value[name], chance, name) for name in names}
    if isinstance(value, list):
        items = [shuffled(item, chance) for item in value]
        return items if key in IN_ORDER else chance.sample(items, len(items))
    return value


if __name__ == "__main__":
    for case in directories():
        text = json.dumps(told(facts_of(case)), indent=1) + "\n"
        (case / "expected.json").write_text(text)
