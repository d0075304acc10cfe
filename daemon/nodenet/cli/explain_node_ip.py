"""Why is this address the node IP, and why is that other address not?

Reads the kernel, or a snapshot of any host, and asks the same pure function that the daemon asks. The options are
what-ifs: each replaces what the settings of this host say. With a snapshot the settings and the published
node IPs of this host are not used: they belong to another host.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePath

from nodenet.cli import outputs, status
from nodenet.cli.outputs import Table, has_colours, note, printable
from nodenet.core.errors import PublishFailed, UsageInvalid
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel import iproute
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip import last_published, published_files
from nodenet.core.node_ip.explain import Comparison, compare, difference_summary, document, explanation, summary
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import HintReading, Policy, parse_value
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, PolicyReading, noted, read_policy
from nodenet.core.node_ip.select import Candidate, Selection, Verdict, select, select_bindable

CHANGE_COLOURS = {True: "1;32", False: "33"}
"""SGR parameters (ECMA-48), by whether the address becomes a node IP."""
ABSENT = "not there"


def show(comparison: Comparison, *, as_json: bool) -> int:
    """Print the comparison; return the exit code, as diff(1) does: 0 nothing changes, 1 something does."""
    if as_json:
        print(json.dumps(document(comparison), indent=1))
    else:
        _print_changes(comparison)
    return 0 if comparison.equal else 1


def _print_changes(comparison: Comparison) -> None:
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
        table.add(row, CHANGE_COLOURS[after is not None and after.verdict is Verdict.SELECTED])
    if comparison.changes:
        print(f"{table.render(coloured=has_colours())}\n")
    print(printable(f"{difference_summary(comparison)}."))


def _shown(candidate: Candidate | None) -> str:
    return f"{candidate.verdict} ({candidate.rule})" if candidate else ABSENT


DESCRIPTION = """Show which addresses of this host are its node IPs, and for every other address why it is not.

Without options this is the selection of the daemon, which keeps published node IPs. Each of the options --vip to
--deny-link replaces the setting of the same name in this command only. With one of these options, or with
--ignore-published, --snapshot or --diff, published node IPs are ignored, as in a first boot or a reselection. Nothing
is changed or published. Neither the daemon nor the bus is needed."""
EPILOG = """exit codes: 0 there are node IPs, 1 no address is eligible, 64 wrong option, 65 invalid snapshot,
78 invalid settings. With --diff: 0 nothing changes, 1 something changes."""
COLOURS = {Verdict.SELECTED: "1;32", Verdict.ELIGIBLE: "33", Verdict.REJECTED: "2"}
"""SGR parameters (ECMA-48)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the topic's options."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    most = f"at most {iproute.MOST_BYTES >> 20} MiB"
    add("--snapshot", metavar="FILE", help=f"explain this snapshot (`-`: standard input; {most}) instead of this host")
    add("--diff", metavar="OTHER", help="show only the verdicts that differ in this snapshot (`-` as above)")
    add("--ignore-published", action="store_true", help="ignore published node IPs, as a reselection does")
    add("--anew", action="store_true", dest="ignore_published", help=argparse.SUPPRESS)  # its former name
    add("--vip", metavar="IP", action="append", type=_address, help="a VIP; may be repeated")
    add(
        "--hint",
        metavar="HINT",
        action="append",
        help="an address, a prefix or the name of a link; may be repeated, in order",
    )
    add("--hint-required", action="store_true", default=None, help="select only addresses that match the hint")
    add("--families", metavar="LIST", type=_families, help="auto, or families in order of preference: `ipv4,ipv6`")
    add("--prefer-ipv6", action="store_true", default=None, help="with families auto: IPv6 first")
    add("--network-type", metavar="TYPE", help="OVNKubernetes, or another pod network")
    add("--platform", metavar="PLATFORM", help="none, baremetal, vsphere …")
    add("--user-managed-lb", action="store_true", default=None, help="the VIPs belong to an external load balancer")
    add(
        "--deny-link",
        metavar="GLOB",
        action="append",
        help="select no node IP on links with such names; may be repeated",
    )
    add("--json", action="store_true", help="print a JSON document instead of a table")


def _address(text: str) -> IPAddress:
    return ip_address(text)


_address.__name__ = "IP address"  # argparse names it in "invalid … value"


def _families(text: str) -> str | tuple[Family, ...]:
    if text == "auto":
        return text
    families = tuple(Family(word) for word in text.split(","))
    if len(set(families)) != len(families):
        raise ValueError(text)
    return families


_families.__name__ = "list of families"


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return the exit code."""
    if arguments.snapshot == arguments.diff == "-":
        raise UsageInvalid("--snapshot and --diff cannot both be read from standard input")
    if arguments.snapshot is None:
        snapshot, wished = _this_host()
    else:
        snapshot, wished = _read(arguments.snapshot), PolicyReading(Policy())
    policy = _what_if(wished.policy, arguments)
    if arguments.diff is not None:
        # No server is tried on this host's addresses: none can be on those of the other snapshot.
        comparison = compare(select(snapshot, policy), select(_read(arguments.diff), policy))
        return show(comparison, as_json=arguments.json)
    if arguments.snapshot is None:
        published = None if arguments.ignore_published or policy != wished.policy else _published()
        selection = noted(_live(snapshot, policy, published), wished)
    else:
        selection = select(snapshot, policy)
    if arguments.json:
        print(json.dumps(explanation(selection), indent=1))
    else:
        _print_table(selection)
    return 0 if selection.node_ips and not selection.conflict else 1


def _this_host() -> tuple[Snapshot, PolicyReading]:
    """Return the kernel's state and what the settings of this host ask for."""
    from nodenet.core.settings.parse import parse  # noqa: PLC0415 - a snapshot needs neither settings nor kernel
    from nodenet.edge.files import settings as settings_files  # noqa: PLC0415
    from nodenet.edge.kernel import netlink  # noqa: PLC0415

    found = parse(settings_files.read()).settings
    wished = read_policy(found, _readable(PurePath(HINT_FILE)))
    shown = status.read() or {}
    named = frozenset(map(Family, shown.get("node_file_families", ())))
    stated = frozenset(map(ip_address, shown.get("node_file_addresses", ())))
    return netlink.snapshot(), replace(wished, policy=replace(wished.policy, named=named, stated=stated))


def _live(snapshot: Snapshot, policy: Policy, published: LastPublished | None) -> Selection:
    """Select as the daemon does: on this host a server can be tried on an address."""
    from nodenet.edge.kernel.netlink import can_bind  # noqa: PLC0415

    return select_bindable(snapshot, policy, published, can_bind)


def _published() -> LastPublished | None:
    """Return what was published last: by the published files, which every user may read, and root's record."""
    from nodenet.edge import clock  # noqa: PLC0415

    contents = {path: _readable(path) for path in published_files.NAMES_NODE_IPS}
    addresses, this_boot = published_files.node_ips(contents)
    if this_boot:
        return LastPublished(addresses, this_boot=True)
    content = _readable(last_published.SELECTION)
    try:
        record = last_published.parse(content, clock.boot_id()) if content else None
    except ValueError as error:
        note(f"nodenetctl: {last_published.SELECTION}: left out of this answer: {error}")
        record = None
    return last_published.last_publication(record, contents)


def _readable(path: PurePath) -> bytes | None:
    """Return the content of the file, None with a note if only root may read it."""
    from nodenet.edge.files import disk  # noqa: PLC0415

    try:
        return disk.read(path)
    except PublishFailed as error:
        note(f"nodenetctl: {error.cause}: left out of this answer")
        return None


def _read(name: str) -> Snapshot:
    """Return the snapshot in the file *name*, `-` for standard input; one without routes is reported."""
    snapshot = outputs.read(name, iproute.MOST_BYTES, iproute.parse)
    if snapshot.addresses and not snapshot.routes:
        note(printable(f"nodenetctl: {name}: the snapshot has no routes, so no link has a default route"))
    return snapshot


def _what_if(policy: Policy, arguments: argparse.Namespace) -> Policy:
    """Return *policy* with what the options put in its place."""
    given = {
        "families": arguments.families,
        "prefer_ipv6": arguments.prefer_ipv6,
        "network_type": arguments.network_type,
        "platform": arguments.platform,
        "user_managed_lb": arguments.user_managed_lb,
        "hint_required": arguments.hint_required,
        "api_vips": None if arguments.vip is None else tuple(arguments.vip),
        "ingress_vips": None if arguments.vip is None else (),
        "deny_links": None if arguments.deny_link is None else tuple(arguments.deny_link),
        "hints": None if arguments.hint is None else _hints(arguments.hint).hints,
    }
    return replace(policy, **{name: value for name, value in given.items() if value is not None})


def _hints(words: Iterable[str]) -> HintReading:
    reading = parse_value(" ".join(words), "--hint")
    if reading.problems:
        raise UsageInvalid(reading.problems[0].cause, remedy=reading.problems[0].remedy)
    return reading


def _print_table(selection: Selection) -> None:
    """Print a row for each address, then notes, and the answer as one sentence."""
    table = Table(("LINK", "ADDRESS", "VERDICT", "RULE", "BECAUSE"))
    for item in selection.candidates:
        where = f"{item.address}/{item.prefix_length}"
        given = f" ({item.source})" if item.verdict is Verdict.SELECTED and item.source != "static" else ""
        row = (item.link, where, item.verdict.value, item.rule.value, item.sentence + given)
        table.add(row, COLOURS[item.verdict])
    print(table.render(coloured=has_colours()))
    lines = [f"Note: {note}." for note in selection.notes]
    lines += [f"May still change: {pending.reason}." for pending in selection.pending]
    for line in (*lines, f"{summary(selection)}."):
        print(f"\n{printable(line)}")
