"""Write what `nodenetctl boot-report` must print for the boots in fixtures/boot_report/. Read the difference.

`make_boots.py` writes them again from the kept journals; `make_boots.py NAME < journal` keeps a boot first, as
`journalctl -b -o json` prints it on a node.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BOOTS = ROOT / "fixtures" / "boot_report"
PICTURE, PICTURED = ROOT / "docs" / "boot.svg", "network-manager-late"
"""The picture of the documentation, and the boot that it shows."""
sys.path[:0] = [str(ROOT / "daemon")]

from nodenet.cli.boot_report import lines  # noqa: E402 -- found there
from nodenet.cli.outputs import moment  # noqa: E402
from nodenet.core.boot_report.svg import picture  # noqa: E402
from nodenet.core.boot_report.timeline import FINISHED, JOBS, UNITS, document, report  # noqa: E402

KEPT = re.compile(
    r"__MONOTONIC_TIMESTAMP|__REALTIME_TIMESTAMP|_TRANSPORT|_BOOT_ID|_HOSTNAME|_PID|_SYSTEMD_UNIT|MESSAGE|MESSAGE_ID|UNIT|SYSLOG_IDENTIFIER"
    r"|NM_LOG_DOMAINS|TIMESTAMP_BOOTTIME|\w+_USEC|STAGE\w*|STATUS|WAIT"
)


def matches(entry: dict[str, Any]) -> bool:
    """Return whether boot-report asks journalctl for this entry."""
    unit, message = entry.get("_SYSTEMD_UNIT"), entry.get("MESSAGE_ID")
    manager = unit == "NetworkManager.service" and entry.get("NM_LOG_DOMAINS") == "CORE"
    job = message in JOBS and entry.get("UNIT") in UNITS
    own = unit == "nodenetd.service" and entry.get("SYSLOG_IDENTIFIER") == "nodenetd"
    return own or manager or (entry.get("_PID") == "1" and (job or message in FINISHED))


def kept(journal: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first and last entry and what matches, with the fields that are read."""
    chosen = [entry for entry in journal if matches(entry) or entry in (journal[0], journal[-1])]
    return [{key: value for key, value in sorted(entry.items()) if KEPT.fullmatch(key)} for entry in chosen]


def expected(journal: list[Any]) -> dict[str, str]:
    """Return what must be said of a journal, by file name."""
    what = report(journal)
    return {
        "expected.json": json.dumps(document(what), indent=1) + "\n",
        "expected.txt": "\n".join(lines(what)) + "\n",
        "expected.svg": picture([what], moment),
    }


def main() -> None:
    """Keep what standard input holds, if a name is given; make all that is expected."""
    for name in sys.argv[1:]:
        journal = kept([json.loads(line) for line in sys.stdin])
        path = BOOTS / name / "journal.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in journal) + "\n]\n")
    for path in BOOTS.glob("*/journal.json"):
        for name, text in expected(json.loads(path.read_text())).items():
            (path.parent / name).write_text(text)
    PICTURE.write_text((BOOTS / PICTURED / "expected.svg").read_text())


if __name__ == "__main__":
    main()
