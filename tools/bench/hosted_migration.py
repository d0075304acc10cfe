"""How long does a migration of the API take, less its waits, and how many requests fail meanwhile?

`python tools/bench/hosted_migration.py --runs 5` (root) boots two control-plane nodes beside a real kube-apiserver and
moves the API to an external load balancer and back, while a client of each node asks `/readyz` ten times a second. It
writes the section of docs/dev/benchmarks.md. With 5 runs it takes some three minutes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from bench.figures import HOSTED_MIGRATION, table, with_section  # noqa: E402 -- found there
from harness import Lab, LabError, install_product, progress  # noqa: E402
from harness.lan import Dhcp, Ipv6  # noqa: E402
from migration_rig import BALANCER, Story, follows, migrating  # noqa: E402
from vip_rig import API, Rig, until  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
NO_IPV6 = Dhcp(ipv6=Ipv6.NONE)
DRAIN_SECONDS = 2
"""The shortest drain; the default is longer, and a matter of the clients."""
DIRECTIONS = {"to the load balancer": (BALANCER, "External"), "back": (None, "SelfHosted")}


class Measured:
    """The seconds of each phase and of each migration, and the failed requests, by direction."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.failed: dict[str, int] = dict.fromkeys(DIRECTIONS, 0)

    def take(self, direction: str, story: Story, rig: Rig) -> None:
        """Move the API once and note what it took."""
        address, end = DIRECTIONS[direction]
        story.edit(address)
        story.until(direction, phase=end, outcome="Completed")
        for node in rig.nodes.values():
            until(lambda: follows(node, address or API, haproxy=address is None), "the node to follow")  # noqa: B023
        moved = time.time() - story.seen[0][0]
        # The first phase is the rest before the operator saw the edit, the last one the rest after the migration.
        _, *between, _ = story.phases()
        for phase, began, ended in between:
            self.seconds[direction, phase].append(ended - began)
        self.seconds[direction, f"all, less the drain of {DRAIN_SECONDS} s"].append(moved - DRAIN_SECONDS)
        self.failed[direction] += len(story.failed(direction))


def measured(product: Path, runs: int) -> Measured:
    """Move the API there and back *runs* times."""
    found, began = Measured(), time.monotonic()
    with Lab() as lab, migrating(lab, lab.lan(dhcp=NO_IPV6), product, drain_seconds=DRAIN_SECONDS) as cluster:
        for run in range(runs):
            for direction in DIRECTIONS:
                found.take(direction, cluster.story, cluster.rig)
            progress(f"{time.monotonic() - began:.0f} s: there and back {run + 1} of {runs} times")
    return found


def section(seconds: Mapping[tuple[str, str], Sequence[float]], failed: Mapping[str, int], runs: int) -> str:
    """Return the section of the page."""
    rows = [
        (direction, what, f"{statistics.median(values):.2f} s", f"{max(values):.2f} s")
        for (direction, what), values in seconds.items()
    ]
    rows += [(direction, "failed requests (aim: 0)", str(count), "") for direction, count in failed.items()]
    return (
        f"{HOSTED_MIGRATION}\nWritten by `python tools/bench/hosted_migration.py`: {runs} migrations in each "
        "direction, on two control-plane nodes.\nA client of each node resolves api-int and asks for `/readyz` ten "
        "times a second all the while. *All* ends when\neach node's DNS and haproxy have followed.\n\n"
        f"{table(('direction', 'phase', 'median', 'worst'), rows)}"
    )


def main() -> int:
    """Measure and print; exit 1 when the lab cannot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    try:
        found = measured(install_product(), runs)
    except LabError as error:
        progress(str(error))
        return 1
    text = section(found.seconds, found.failed, runs)
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
