"""What a seed means, and which scenarios a sweep goes through.

Faults are found where few things meet: most seeds take an ordinary node, let one thing go wrong at one of the calls
that this node makes in a quiet boot, or after an apply that went wrong, and let another event follow soon. The other
seeds are any node and any faults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

from simulation.by_hand import HAND, HARMLESS
from simulation.faults import POINTS, Fault
from simulation.nodes import HELD, OFTEN, ORDINARY, TRIED_FREELY, TRIED_ON, TWO_LANS
from simulation.result import Result, run
from simulation.scenario import Node, Scenario

CALLS = Path(__file__).parent / "calls.json"
"""Written by `tools/simulate.py --learn-calls`."""
LONG, SHORT = 380.0, 20.0
CUTS = (
    "power-cut",
    "daemon-killed",
    "daemon-stopped",
    "manager-crashes",
    "nic-renamed",
    "nics-swapped",
    "disk-lies",
    "boots-cut-short",
    "boot-without-dhcp",
    "boot-without-carrier",
)
"""After these something begins again."""
TROUBLES = (
    *("apply-goes-wrong", "apply-goes-wrong", "rollback-fails", "bus-down", "bus-stalled", "manager-hangs"),
    *("ovs-database-down", "ovs-switch-hangs", "dhcp-silent", "dhcp-slow", "gateway-dead", "cable-out"),
    *("systemd-silent", "systemd-refuses-reload", "systemd-deaf", "notifications-lost", "disk-full", "disk-full"),
    *("disk-read-only", "disk-fails", "router-silent", "unit-fails", "unit-slow", "dhcp-other-address"),
    *("kernel-silent", "hosted-fails", "answers-late", "answers-late", "events-flood"),
    *("descriptors-gone", "inhibited", "link-set-down", "router-appears"),
)
"""These last for a while."""
EVENTS = (
    *("reload", "reselect", "bridge-remove", "node-file-edited", "dhcp-other-address", "manager-crashes"),
    *("other-checkpoint", "other-profile", "readdressed", "vip-comes", "wall-clock-steps", "events-flood", "power-cut"),
    *("daemon-killed", "daemon-stopped", "dhcp-other-address", "suspended"),
)
"""What the rest of the world does meanwhile."""
CHANGES = ("dhcp-other-address", "node-file-edited", "manager-crashes", "readdressed", "vip-comes")
"""After these an administrator may ask for something, or the daemon begin again."""
ASKED = ("reload", "reload", "daemon-killed", "daemon-stopped", "bridge-remove")

TRIED, PANICS, STRAY, SECOND = "file-tried", "file-panics", "boot-beside-a-stray", "second-router"
SWAPPED = "uplink-swapped"
"""In no seed: `test_swapped` strikes at each of its calls."""
ANY = sorted({*CUTS, *TROUBLES, *EVENTS})

UPSETS: Mapping[str, Fault] = {
    "apply-goes-wrong": Fault("apply-goes-wrong", "", 1, 0.0, SHORT, 0.99),
    "daemon-killed": Fault("daemon-killed", "nmstate.apply.written", 1, 0.0, SHORT, 0.5),
    "manager-crashes": Fault("manager-crashes", "nmstate.apply.written", 1, 0.0, 1.0, 0.5),
}
"""What has gone wrong before a fault strikes: a node then makes calls that it does not make in a quiet boot."""
OPEN = ("nmstate.apply", "nmstate.commit", "files.sync", "manager.checkpoints", "profiles.")
"""Beginnings of the calls between which the network is not as it was, and not yet as it is to be."""
IN_TRIAL = (
    *("manager.checkpoints", "manager.extend", "manager.owner", "manager.roll_back", "manager.roll_back:back"),
    *("nmstate.begin", "nmstate.show", "nmstate.difference", "nmstate.apply.begin", "nmstate.apply.made"),
    *("nmstate.apply.half", "nmstate.apply.written", "nmstate.apply.verify", "nmstate.commit", "nmstate.commit:back"),
    *("profiles.keep", "profiles.inventory", "profiles.give_back", "profiles.delete", "profiles.activate"),
    *("files.write", "files.written", "files.remove", "files.removed", "files.sync", "neighbours.answers"),
)
"""The calls of a trial, and of its end."""
FILES = (
    *("", "", "", "dhcp", "other-lease", "static", "bridge", "missing-nic", "invalid", "unknown-type", "empty"),
    *("dead-gateway", "taken-address"),
)
"""What a node file may ask for; "": there is none."""
QUIET_SECONDS = 100.0
"""After which the world is fair while the calls of a boot are learned."""


def scenario_of(seed: int) -> Scenario:
    """Return what *seed* means."""
    random = Random(seed)  # noqa: S311  (nothing secret)
    if random.random() < 0.2:
        return _anything(seed, random)
    name = random.choice([*ORDINARY, *OFTEN])
    upset = random.choice(["", "", *UPSETS])
    healed = random.choice([100.0, 100.0, 100.0, 200.0, 400.0])
    first = random.choice([*CUTS, *CUTS, *TROUBLES])
    struck = _at_call(random, name, upset, first) if random.random() < 0.6 else _at_time(random, first, healed)
    faults = [*_upset(random, upset), struck]
    if random.random() < 0.8:
        event = _soon_after(random, struck, random.choice(EVENTS))
        faults.append(event)
        if event.kind in CHANGES and random.random() < 0.5:
            faults.append(_soon_after(random, event, random.choice(ASKED)))
    if random.random() < 0.25:
        faults.append(_at_call(random, name, upset, random.choice(CUTS)))
    if any(fault.lasts == LONG for fault in faults):
        healed = max(healed, random.choice([100.0, 200.0, 400.0]))
    kind = random.random()
    for share, another in (
        (0.1, _trial),
        (0.13, _panic),
        (0.2, _next_boot),
        (0.23, _renamed),
        (0.26, _by_hand),
        (0.28, _two_routers),
    ):
        if kind < share:
            return another(seed, random)
    return Scenario(seed, ORDINARY[name], tuple(faults), healed)


def _trial(seed: int, random: Random) -> Scenario:
    """Let a node file be tried on a node that is ready, and something go wrong meanwhile."""
    name = random.choice([*TRIED_ON, *TRIED_FREELY])
    tried = _of(random, TRIED, "", 1, random.uniform(20.0, 50.0))
    kind = random.choice([*CUTS, *CUTS, *TROUBLES, *EVENTS])
    if name in TRIED_ON and random.random() < 0.6:
        point = random.choice(IN_TRIAL)
        nth = dict(known_calls()[name, ""].all).get(point, 0) + 1 + int(random.expovariate(0.5))
        struck = _of(random, kind, point, nth, random.choice([0.0, 0.0, random.uniform(0.0, 0.5)]))
    else:
        struck = _of(random, kind, "", 1, tried.at + random.uniform(0.0, random.choice([1.5, 25.0])))
    faults = [tried, struck]
    if random.random() < 0.6:
        faults.append(_soon_after(random, struck, random.choice([*EVENTS, *CUTS])))
    node = ORDINARY[name] if name in TRIED_ON else replace(ORDINARY[name], ovn=False)
    return Scenario(seed, node, tuple(faults), 200.0)


def _panic(seed: int, random: Random) -> Scenario:
    """Let the kernel panic with a new node file, where another one is known good, and something else go wrong."""
    name = random.choice(["file", "file-dhcp"])
    panics = _of(random, PANICS, "", 1, random.uniform(75.0, 120.0))
    faults = [panics]
    if random.random() < 0.5:
        other = random.choice([*CUTS, *TROUBLES, *EVENTS])
        faults.append(_of(random, other, "", 1, panics.at + random.uniform(0.0, 120.0)))
    return Scenario(seed, replace(ORDINARY[name], ovn=False), tuple(faults), 400.0)


def _next_boot(seed: int, random: Random) -> Scenario:
    """Let a node with two ways out, or with a file that fails, boot again while its first NIC is late."""
    node = random.choice([*TWO_LANS, *TWO_LANS, *HELD])
    late = random.choice(["boot-without-dhcp", "boot-without-carrier"])
    if seed % 3 == 0:
        node, late = ORDINARY[random.choice(["ipv6", "dual-stack", "dhcpv6"])], STRAY
    faults = [_of(random, late, "", 1, random.uniform(0.0, 100.0)) for _ in range(random.choice([1, 1, 2]))]
    if random.random() < 0.5:
        faults.append(_of(random, random.choice([*CUTS, *TROUBLES, *EVENTS]), "", 1, random.uniform(0.0, 200.0)))
    return Scenario(seed, node, tuple(faults), 400.0)


def _renamed(seed: int, random: Random) -> Scenario:
    """Let the NICs of a node file that has worked get other names, and something else happen meanwhile."""
    name = random.choice(["file", "file-dhcp", "file-br-ex", "file-other-lease"])
    node, kind = ORDINARY[name], "nic-renamed"
    if random.random() < 0.5:
        node, kind = replace(node, ovn=False, second_nic=random.choice(["isolated", "silent"])), "nics-swapped"
    faults = [_of(random, kind, "", 1, random.uniform(20.0, 80.0))]
    if random.random() < 0.4:
        faults.append(_of(random, kind, "", 1, faults[0].at + random.uniform(0.0, 60.0)))
    if random.random() < 0.7:
        other = random.choice([*CUTS, *CUTS, *TROUBLES, *EVENTS])
        faults.append(_of(random, other, "", 1, faults[0].at + random.uniform(0.0, random.choice([2.0, 60.0]))))
    return Scenario(seed, node, tuple(faults), 200.0)


def _two_routers(seed: int, random: Random) -> Scenario:
    """Let a second router, or another lease, come to a node whose kubelet runs, and something else happen meanwhile."""
    node = ORDINARY[random.choice(["ipv6", "dual-stack", "dhcpv6", "vlan", "file-dhcp", "br-ex"])]
    faults = [_of(random, SECOND, "", 1, random.uniform(20.0, 100.0))]
    faults.append(_of(random, "dhcp-other-address", "", 1, faults[0].at + random.uniform(0.0, 60.0)))
    if random.random() < 0.5:
        other = random.choice([*CUTS, *TROUBLES, *EVENTS])
        faults.append(_of(random, other, "", 1, faults[0].at + random.uniform(0.0, 60.0)))
    return Scenario(seed, node, tuple(faults[random.choice([0, 0, 1]) :]), 400.0)


def _by_hand(seed: int, random: Random) -> Scenario:
    """Let an administrator change the network of a node file by hand, and mostly something else happen."""
    node = ORDINARY[random.choice(["file", "file", "file-dhcp", "file-br-ex", "file-other-lease"])]
    faults = [_of(random, HAND, "", 1, random.uniform(15.0, 90.0)) for _ in range(random.choice([1, 1, 2]))]
    if random.random() < 0.7:
        other = random.choice([*sorted(HARMLESS - {HAND}), random.choice([*CUTS, *TROUBLES, *EVENTS])])
        faults.append(_of(random, other, "", 1, faults[0].at + random.uniform(0.0, random.choice([5.0, 60.0]))))
    return Scenario(seed, node, tuple(faults), 200.0)


def _upset(random: Random, kind: str) -> list[Fault]:
    """Return what has gone wrong before: an apply, in one of the ways in which it can."""
    if not kind:
        return []
    fault = replace(UPSETS[kind], pick=_pick(random))
    return [replace(fault, lasts=random.choice([SHORT, SHORT, LONG])) if kind == "apply-goes-wrong" else fault]


def _at_call(random: Random, name: str, upset: str, kind: str) -> Fault:
    """Let *kind* strike at one of the calls that a node makes, after *upset* mostly at one that it makes for that."""
    known = known_calls()[name, upset]
    if not known.all:  # a node file that fails holds the boot: it makes no call that it does not make in a quiet one
        known = known_calls()[name, ""]
    chosen = known.rare if random.random() < 0.5 else known.all
    point, times = random.choice(chosen or known.all)
    nth = 1 + min(int(random.expovariate(0.5)), times - 1) if random.random() < 0.7 else 1 + random.randrange(times)
    return _of(random, kind, point, nth, random.choice([0.0, 0.0, random.uniform(0.0, 0.5)]))


def _at_time(random: Random, kind: str, healed: float) -> Fault:
    latest = random.choice([0.0, 10.0, 60.0, healed / 2])
    return _of(random, kind, "", 1, random.uniform(0.0, latest))


def _soon_after(random: Random, first: Fault, kind: str) -> Fault:
    latest = random.choice([0.0, 0.5, 5.0, 30.0, 60.0, 60.0])
    return _of(random, kind, first.point, first.nth, first.at + random.uniform(0.0, latest))


def _of(random: Random, kind: str, point: str, nth: int, at: float) -> Fault:
    lasts = random.choice([SHORT, 90.0, LONG, LONG] if kind.startswith("disk-") else [0.5, 3.0, SHORT, 90.0, LONG])
    return Fault(kind, point, nth, round(at, 3), lasts, _pick(random))


def _pick(random: Random) -> float:
    return min(round(random.random(), 3), 0.999)


@cache
def calls(node: Node, upset: str = "") -> tuple[tuple[str, int], ...]:
    """Return the calls to the outside that *node* makes in a quiet boot, or one with *upset*, and how often each."""
    scenario = Scenario(0, node, (UPSETS[upset],), QUIET_SECONDS) if upset else Scenario(0, node, (), 0.0)
    made = run(scenario)
    return tuple(sorted((made.calls or made.points).items()))  # a first file that fails holds kubelet: never all well


@dataclass(frozen=True, slots=True)
class Calls:
    """*rare*: those at which the network is open, and with an upset those that a quiet boot has fewer of."""

    all: list[tuple[str, int]]
    rare: list[tuple[str, int]]


@cache
def known_calls() -> dict[tuple[str, str], Calls]:
    """Return the same by name and upset as it was once: a seed means the same after a change of the product."""
    known = json.loads(CALLS.read_text())
    return {(name, upset): _calls(of_name, upset) for name, of_name in known.items() for upset in of_name}


def _calls(of_name: Mapping[str, Mapping[str, int]], upset: str) -> Calls:
    quiet, made = of_name[""], of_name[upset]
    rare = [
        (point, times)
        for point, times in made.items()
        if (times > quiet.get(point, 0) if upset else point.startswith(OPEN))
    ]
    return Calls(list(made.items()), rare)


def learn_calls() -> str:
    """Return the content of the file that `known_calls` reads."""
    kinds = ["", *UPSETS]
    lines = [
        f"{json.dumps(name)}: {json.dumps({kind: dict(calls(node, kind)) for kind in kinds})}"
        for name, node in ORDINARY.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _anything(seed: int, random: Random) -> Scenario:
    node = Node(
        profile=random.choice(["automatic", "dhcp", "static"]),
        second_nic=random.choice(["", "", "isolated", "silent", "routed"]),
        file=random.choice(FILES),
        of_host=random.random() < 0.7,
        ovn=random.random() < 0.8,
        vips=random.random() < 0.3,
        on_failure=random.choice(["wait", "degrade", "auto", "auto", "auto"]),
        families=random.choice(["auto", "ipv4"]),
        short_lease=random.random() < 0.15,
        kernel_datapath=random.random() < 0.9,
        named_after=round(random.uniform(5.0, 100.0), 1) if random.random() < 0.15 else 0.0,
        nonlocal_bind=random.random() < 0.15,
    )
    if node.file and node.second_nic == "routed":
        node = replace(node, second_nic="isolated")  # its file says nothing of the second way out
    number = random.choice([0, 1, 1, 2, 2, 3, 4, 6])
    healed = random.choice([100.0, 200.0, 400.0])
    # A few kinds, again and again: two that have to meet would hardly do so among all of them.
    kinds = random.sample(ANY, random.choice([1, 2, 2, 3, 5]))
    return Scenario(seed, node, tuple(_any_fault(random, kinds, healed) for _ in range(number)), healed)


def _any_fault(random: Random, kinds: list[str], healed: float) -> Fault:
    kind = random.choice(kinds)
    point = random.choice(POINTS) if random.random() < 0.6 else ""
    nth = min(int(random.expovariate(0.35)) + 1, 30)
    at = random.uniform(0.0, 0.5) if point else random.choice([random.uniform(0, 10), random.uniform(0, healed / 2)])
    return _of(random, kind, point, nth, at)


def sweep(name: str, kind: str, then: str = "") -> Iterator[Scenario]:
    """Yield for the ordinary node *name* one scenario for each of its calls: *kind* strikes there.

    *then* strikes 2 s later, where it is given.
    """
    node = ORDINARY[name]
    for point, times in calls(node):
        for nth in range(1, times + 1):
            first = Fault(kind, point, nth, 0.0, SHORT, 0.7)
            faults = (first, replace(first, kind=then, at=2.0, lasts=3.0)) if then else (first,)
            yield Scenario(0, node, faults, 100.0)


def run_seed(seed: int) -> Result:
    """Return what the run of *seed* finds."""
    return run(scenario_of(seed))
