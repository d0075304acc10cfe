"""How often is a prediction of `nodenetctl what-if` wrong? Compared with applies on booted nodes of the lab.

`python tools/error_rate.py` reads the records in fixtures/what_if and writes the rate into docs/fleet.md, with each
miss as a named case. NODENET_RECORD_APPLIES=fixtures/what_if, and any test of the lab that reloads, adds records to
fixtures/what_if/records.jsonl, one a line; delete the lines of a test before you record it again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "daemon")]

from nodenet.cli.what_if import policy_of_report  # noqa: E402 -- found there
from nodenet.core.fleet.after import MAY_NAME, NO_LEASE, UNDONE  # noqa: E402
from nodenet.core.fleet.host import Host, Options, host  # noqa: E402
from nodenet.core.fleet.what_if import (  # noqa: E402
    NO_FILE,
    REFUSED,
    NewFiles,
    Outcome,
    chosen,
    outcome,
    policy_of_next_boot,
    shown_addresses,
    shown_routes,
)
from nodenet.core.kernel.snapshot import Snapshot  # noqa: E402
from nodenet.core.node_ip.policy import Policy  # noqa: E402

RECORDS = ROOT / "fixtures" / "what_if"
PAGE = ROOT / "docs" / "fleet.md"
BEGIN, END = "<!-- error rate: made by tools/error_rate.py -->", "<!-- end -->"
WHY = ROOT / "fixtures" / "what_if" / "misses.json"
"""Name of a record → why its prediction is wrong."""


@dataclass(frozen=True, slots=True)
class Record:
    """One apply: the node before, its new files and settings, and the node after."""

    name: str
    before: Host
    after: Host
    files: dict[str, str]
    settings: str

    @classmethod
    def of(cls, name: str, kept: Mapping[str, Any]) -> Record:
        """Return the record that the lab has *kept*."""
        return cls(name, _host(kept["before"]), _host(kept["after"]), kept["files"], kept["settings"])

    @property
    def new(self) -> NewFiles:
        """The new files, as `what-if` reads them."""
        return NewFiles(tuple(sorted(self.files)), lambda name: self.files[name].encode())

    @property
    def policy(self) -> Policy:
        """What the settings and the file of the node ask for."""
        policy = policy_of_report(self.settings.encode())[0]
        file = self.new.of(self.before.name, self.before.snapshot or Snapshot())
        return policy_of_next_boot(policy, self.new.desired(file)) if file else policy


def records(folder: Path = RECORDS) -> Iterator[Record]:
    """Yield all records; those of one name are numbered."""
    seen: Counter[str] = Counter()
    with (folder / "records.jsonl").open(encoding="utf-8") as lines:
        for kept in map(json.loads, lines):
            seen[kept["name"]] += 1
            yield Record.of(f"{kept['name']}-{seen[kept['name']]}", kept)


def _host(state: dict[str, Any]) -> Host:
    parts = {"snapshot.json": state["snapshot"], "status.json": state["status"]}
    documents = {name: json.dumps(part).encode() for name, part in parts.items()}
    return host("node", "node", documents, (), Options((), lambda _, __: ""))


def predicted(record: Record) -> Outcome:
    """Return what `what-if` says of the node before."""
    return outcome(record.before, record.new, policy_of_report(record.settings.encode())[0])


def differences(record: Record) -> list[str]:
    """Return in which values the node was not as predicted, in words."""
    made, after, before = predicted(record), record.after, record.before
    if made.verdict == NO_FILE:
        return []
    was_refused = _is_refused(after)
    if was_refused and any(silent in after.cause for silent in _open_ends(made)):
        made = replace(made, verdict=REFUSED)  # as the note says
    if was_refused != (made.verdict == REFUSED):
        cause = f": {after.cause}" if after.cause else ""
        return [f"predicted: {made.verdict}; the node has {'refused' if was_refused else 'taken'} it{cause}"]
    if made.verdict == REFUSED:
        made = replace(
            made,
            addresses=tuple(shown_addresses(before.snapshot or Snapshot())),
            default_routes=tuple(shown_routes(before.snapshot or Snapshot())),
            mtu=_mtu(before),
        )
    found = list(_compared(made, after))
    if made.verdict != REFUSED and not any(word in note for note in made.notes for word in (NO_LEASE, MAY_NAME)):
        selection = chosen(replace(after, link=made.link), after.snapshot or Snapshot(), record.policy)
        if tuple(map(str, selection.node_ips)) != made.node_ips:
            found.append(f"node IPs: predicted {made.node_ips}, found {selection.node_ips}")
    return found


def _open_ends(made: Outcome) -> Iterator[str]:
    """Yield what undoes the file, in nodenetd's words, of all that the prediction calls open."""
    for note in made.notes:
        words = note.split()
        if note.endswith(UNDONE):
            is_gateway = words[1] == "gateway"
            yield f"the gateway {words[2]} does not answer on {words[4]}" if is_gateway else "the DNS server "


def _is_refused(after: Host) -> bool:
    """Return whether the status has a problem of the node file, or another file is in force."""
    of_file = [each for each in after.state.get("problems", ()) if each.get("stage") == "nmstate"]
    return bool(of_file) or after.digest != after.applied


def _mtu(one: Host) -> dict[str, int]:
    return {link.name: link.mtu for link in (one.snapshot.links if one.snapshot else ()) if not link.loopback}


def _compared(made: Outcome, after: Host) -> Iterator[str]:
    """Yield each value that is not as predicted; what the prediction calls unknown is not compared."""
    snapshot = after.snapshot or Snapshot()
    leases = {(note.split()[0], note.split()[4]) for note in made.notes if NO_LEASE in note}
    ways = leases | {(note.split()[0], note.split()[3]) for note in made.notes if MAY_NAME in note}
    for what, open_ones, known, words in (
        ("address", leases, made.addresses, shown_addresses(snapshot)),
        ("default route", ways, made.default_routes, shown_routes(snapshot)),
    ):
        expected, found = (_without(each, open_ones) for each in (known, tuple(words)))
        yield from (f"{what} {each} was predicted, and is not there" for each in sorted(expected - found))
        yield from (f"{what} {each} is there, and was not predicted" for each in sorted(found - expected))
    down = {note.split()[0] for note in made.notes if " has no address, " in note}
    for link in sorted((made.mtu.keys() | _mtu(after).keys()) - down):
        if made.mtu.get(link) != _mtu(after).get(link):
            yield f"MTU of {link}: predicted {made.mtu.get(link)}, found {_mtu(after).get(link)}"


def _without(words: Iterable[str], open_ones: Collection[tuple[str, str]]) -> set[str]:
    return {
        each
        for each in words
        if not any(link in each.split() and (":" in each) is (family == "IPv6") for link, family in open_ones)
    }


def section(names: Collection[str], wrong: dict[str, list[str]]) -> str:
    """Return the section of the page."""
    why = json.loads(WHY.read_text(encoding="utf-8")) if WHY.exists() else {}
    equal = len(names) - len(wrong)
    share = 100 * equal / len(names) if names else 0.0
    said = f"{equal} of {len(names)} predictions were equal to what a booted node had after the apply ({share:.1f} %):"
    what = "verdict, addresses, default routes,\nMTU and node IPs, but for what a note calls not known."
    lines = [f"{BEGIN}\n", f"{said} {what}"]
    lines += ["\n| miss | what | why |\n|---|---|---|"] if wrong else []
    lines += [f"| {name} | {'; '.join(each[:3])} | {why.get(name, 'not known yet')} |" for name, each in wrong.items()]

    return "\n".join([*lines, "", END])


def measured(folder: Path = RECORDS) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of the records, and the differences of those that were not as predicted."""
    found = {record.name: differences(record) for record in records(folder)}
    return list(found), {name: each for name, each in found.items() if each}


def made(page: str, folder: Path = RECORDS) -> str:
    """Return the *page* with the present rate."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{section(*measured(folder))}{rest.partition(END)[2]}"


def main(argv: list[str] | None = None) -> int:
    """Print the rate and write the page; with a folder only print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=RECORDS, help="records (default: %(default)s)")
    arguments = parser.parse_args(argv)
    names, wrong = measured(arguments.folder)
    for name, found in wrong.items():
        print(f"{name}: {'; '.join(found)}")
    print(f"{len(names) - len(wrong)} of {len(names)} equal")
    if arguments.folder == RECORDS:
        PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
