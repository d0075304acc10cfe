"""How is each figure measured on a node?"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import LabError, Node
from story import settle

PROGRAMS = Path(__file__).with_name("programs")
BENCH = "/opt/bench"
LIBRARY = "/usr/lib/nodenet"
BUNDLED = f"{LIBRARY}/bundled"
UNIT = "nodenetd.service"
PYTHON = ("/usr/bin/python3", "-I")
STARTED_UP = "manager: startup complete"
"""NetworkManager's word for: every device that has a profile is activated, or never will be."""
READY = "ActiveEnterTimestampMonotonic"
EXEC = "ExecMainStartTimestampMonotonic"
STILL_STARTING = "NetworkManager is still starting"
"""What the stage nmstate waits for until NetworkManager says so."""
LATE_SECONDS = 2
IDLE_SECONDS = 60
SETTLED_SECONDS = 90
"""After READY: `good_after` of the settings and a beat of the watchdog have passed."""
UNTIL_FIRST_WORD = "until the first word in the journal"


@dataclass(frozen=True, slots=True)
class Run:
    """One command as a whole process; times in seconds."""

    wall: float
    cpu: float
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Start:
    """One start of nodenetd, in seconds."""

    total: float
    """From exec to READY."""
    parts: Mapping[str, float]
    """They sum up to the total."""


def equip(node: Node) -> None:
    """Put the programs on a node's disk."""
    for program in PROGRAMS.glob("*.py"):
        node.write(f"{BENCH}/{program.name}", program.read_bytes())


def program(name: str, *words: str) -> list[str]:
    """Return the command line of one of our programs, run as the daemon's Python is."""
    return [*PYTHON, f"{BENCH}/{name}.py", *words]


def spawn(node: Node, command: list[str], times: int = 1, expect: frozenset[int] = frozenset({0})) -> list[Run]:
    """Run *command* on the node; measured there, so that the way into the node is not in it."""
    printed = node.run([*program("spawn", str(times)), *command], timeout=60 + 10 * times).stdout
    runs = [Run(**json.loads(line)) for line in printed.splitlines()]
    for run in runs:
        if run.code not in expect:
            raise LabError(f"{command}: exit code {run.code}\n{run.err}")
    return runs


def restart(node: Node) -> Start:
    """Start nodenetd again on a node where everything is in force, and take the start apart."""
    node.run(f"systemctl reset-failed {UNIT}; systemctl restart {UNIT}", timeout=120)
    begun = property_of(node, EXEC) / 1e6
    first_word = int(own_journal(node)[0]["__MONOTONIC_TIMESTAMP"]) / 1e6
    return apart(node, begun, {UNTIL_FIRST_WORD: first_word - begun})


def apart(node: Node, begun: float, known: Mapping[str, float]) -> Start:
    """Return the time from *begun* to READY with what is *known* about it, stage by stage, and the rest."""
    total = property_of(node, READY) / 1e6 - begun
    parts = {f"stage {name}": end - max(start, begun) for name, start, end in stages(node) if end > begun}
    parts = {**known, **parts}
    return Start(total, {**parts, "the rest: bus, between the stages": total - sum(parts.values())})


def stages(node: Node) -> list[tuple[str, float, float]]:
    """Return name, start and end of the stages that are over, on the monotonic clock."""
    slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    told: list[dict[str, Any]] = settle(node)["stages"]
    ran = [stage for stage in told if stage["started"] is not None and stage["ended"] is not None]
    return [(stage["name"], stage["started"] - slept, stage["ended"] - slept) for stage in ran]


def first_boot(node: Node) -> Start:
    """Return the way from NetworkManager's end of start-up to READY; the node was just switched on."""
    settle(node, timeout=120)
    entries = node.journal("NetworkManager.service")
    started = next(entry for entry in entries if STARTED_UP in str(entry["MESSAGE"]))
    return apart(node, int(started["__MONOTONIC_TIMESTAMP"]) / 1e6, {})


def time_line(node: Node) -> dict[str, Any]:
    """Return what boot-report says of the present boot."""
    settle(node, timeout=120)
    node.run(["journalctl", "--sync"])
    (boot,) = node.json(["nodenetctl", "boot-report", "--json"])
    told: dict[str, Any] = boot
    return told


def reaction(boot: Mapping[str, Any]) -> float:
    """Return the seconds from NetworkManager's end of start-up to the stage that waited for it, at work again."""
    told = next(span["end"] for span in boot["spans"] if span["text"] == "first activations")
    waits = [span for span in boot["spans"] if span["kind"] == "wait" and span["text"].startswith(STILL_STARTING)]
    if not waits:
        raise LabError("no stage waited for NetworkManager's start-up")
    return max(0.0, float(waits[-1]["end"] - told))


def bare_apply(node: Node, path: str) -> tuple[float, float]:
    """Apply *path* without a daemon on a node just switched on; seconds of the process, and of the call in it."""
    node.wait_settled()
    (run,) = spawn(node, program("bare_apply", BUNDLED, path))
    return run.wall, float(json.loads(run.out)["apply"])


def memory(node: Node) -> float:
    """Return the resident megabytes of the daemon."""
    text = node.run(["cat", f"/proc/{property_of(node, 'MainPID')}/status"]).stdout
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


def wakeups(node: Node) -> tuple[float, float]:
    """Return the daemon's wake-ups a minute when nothing happens, and the watchdog's beats among them.

    Something happens once in the first minutes: the node file is kept as the last known good one. That is waited for.
    """
    beats = 60 / (watchdog_seconds(node) / 2)
    since_ready = float(node.run("cat /proc/uptime").stdout.split()[0]) - property_of(node, READY) / 1e6
    time.sleep(max(0.0, SETTLED_SECONDS - since_ready))
    before = switches(node)
    time.sleep(IDLE_SECONDS)
    return (switches(node) - before) * 60 / IDLE_SECONDS, beats


def watchdog_seconds(node: Node) -> float:
    """Return the time after which systemd takes the daemon for dead; it is fed twice in that time."""
    unit = "/org/freedesktop/systemd1/unit/nodenetd_2eservice"
    read = ["busctl", "get-property", "org.freedesktop.systemd1", unit, "org.freedesktop.systemd1.Service"]
    return int(node.run([*read, "WatchdogUSec"]).stdout.split()[1]) / 1e6


def switches(node: Node) -> int:
    """Return how often a thread of the daemon has gone to sleep."""
    tasks = f"cat /proc/{property_of(node, 'MainPID')}/task/*/status"
    lines = [line for line in node.run(tasks).stdout.splitlines() if line.startswith("voluntary_ctxt_switches")]
    return sum(int(line.split()[1]) for line in lines)


def property_of(node: Node, name: str) -> int:
    """Return a numeric property of the daemon's unit."""
    return int(node.run(["systemctl", "show", "--value", "-p", name, UNIT]).stdout)


def own_journal(node: Node) -> list[dict[str, Any]]:
    """Return what the present process of the daemon reported."""
    node.run(["journalctl", "--sync"])
    printed = node.run(["journalctl", "-o", "json", f"_PID={property_of(node, 'MainPID')}"]).stdout
    return [json.loads(line) for line in printed.splitlines()]
