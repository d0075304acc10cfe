"""How is the difference between two explanations printed: a row for each verdict that changes, and one sentence?"""

from __future__ import annotations

import json

from nodenet.cli.outputs import Table, has_colours, printable
from nodenet.core.node_ip.diff import Comparison, document, summary
from nodenet.core.node_ip.select import Candidate, Verdict

COLOURS = {True: "1;32", False: "33"}
"""SGR parameters (ECMA-48), by whether the address becomes a node IP."""
ABSENT = "not there"


def show(comparison: Comparison, *, as_json: bool) -> int:
    """Print the comparison; return the exit code, as diff(1) does: 0 nothing changes, 1 something does."""
    if as_json:
        print(json.dumps(document(comparison), indent=1))
    else:
        _print_table(comparison)
    return 0 if comparison.equal else 1


def _print_table(comparison: Comparison) -> None:
    table = Table(("LINK", "ADDRESS", "BEFORE", "AFTER", "BECAUSE"))
    for change in comparison.changes:
        link, address, prefix_length = change.place
        after = change.after
        row = (
            link,
            f"{address}/{prefix_length}",
            _shown(change.before),
            _shown(after),
            after.sentence if after else "",
        )
        table.add(row, COLOURS[after is not None and after.verdict is Verdict.SELECTED])
    if comparison.changes:
        print(f"{table.render(coloured=has_colours())}\n")
    print(printable(f"{summary(comparison)}."))


def _shown(candidate: Candidate | None) -> str:
    return f"{candidate.verdict} ({candidate.rule})" if candidate else ABSENT
