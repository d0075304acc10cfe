"""How does nodenet run with the bundled interpreter, and how long does an upgrade of a running node take?"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import build_deb
import build_rpm
import build_sysext
from bench import measures
from bench.figures import Figure, Unit, milliseconds
from factories import NO_BRIDGE
from harness import Flavour, Lab, Lan, Node, install_product, progress
from harness.product import Tree
from harness.rootfs import DEFAULT, packages
from package_builds import named, published, wait_for
from pinger import EVERY, Pinger
from staging import Build
from story import node_file, settle, with_mtu

STARTS = 15
UPGRADES = 6
OLD, NEW = (Build(version, f"{version}-bench") for version in ("1.0.0", "1.0.1"))
INSTALLER = "/root/nodenet-sysext"
OWN, BUNDLED = "the node's own Python", "the bundled interpreter"


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of package, and how it gets onto a running node."""

    name: str
    pack: Callable[[Build, Path, Path], Path]
    install: tuple[str, ...]
    """The command, without the file."""


FORMS = (
    Form("Debian package", build_deb.pack, ("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--install")),
    # Debian names otherwise what the package requires.
    Form("RPM package", build_rpm.pack, ("rpm", "--upgrade", "--nodeps", "--oldpackage")),
    Form("system extension", build_sysext.pack, (INSTALLER, "install")),
)


def figures() -> list[Figure]:
    """Boot nodes and return what was measured."""
    with Lab() as lab:
        lan = lab.lan()
        found = interpreters(lab, lan)
        lab.clear()
        for form in FORMS:
            found += upgrades(form, lab, lab.lan())
            lab.clear()
    return found


def interpreters(lab: Lab, lan: Lan) -> list[Figure]:
    """Return start and memory with both interpreters, on two nodes in turns."""
    files = {node_file("cluster.yml"): with_mtu(1400), **NO_BRIDGE}
    nodes = {}
    for number, (name, kind) in enumerate({OWN: Tree.NODE, BUNDLED: Tree.BUNDLED}.items()):
        layers = [install_product(kind=kind)]
        nodes[name] = lab.node(f"worker-{number}", nics=[lan], layers=layers, files=files, enable=[measures.UNIT])
        measures.equip(nodes[name])
        nodes[name].boot()
    for node in nodes.values():
        settle(node, timeout=120)
        node.wait_settled()
    progress(f"{STARTS} starts of nodenetd and of nodenetctl with each interpreter")
    starts: dict[str, list[float]] = {name: [] for name in nodes}
    commands: dict[str, list[float]] = {name: [] for name in nodes}
    for _ in range(STARTS):
        for name, node in nodes.items():
            starts[name].append(measures.restart(node).total)
            commands[name] += [run.wall for run in measures.spawn(node, ["/usr/bin/nodenetctl", "version"])]
    progress(f"{measures.SETTLED_SECONDS} s until both are idle")
    time.sleep(measures.SETTLED_SECONDS)
    memory = {name: measures.memory(node) for name, node in nodes.items()}
    return [
        *compared("start of nodenetd, exec to READY", starts),
        *compared("nodenetctl version", commands),
        *(Figure(f"memory of nodenetd (RSS), {name}", value, Unit.MB) for name, value in memory.items()),
        Figure("memory, more with the bundled interpreter", memory[BUNDLED] - memory[OWN], Unit.MB, aim=3),
    ]


def compared(what: str, seconds: dict[str, list[float]]) -> list[Figure]:
    """Return the medians with each interpreter, and their ratio."""
    medians = {name: milliseconds(times) for name, times in seconds.items()}
    ratio = medians[BUNDLED] / medians[OWN]
    why = f"{medians[BUNDLED] - medians[OWN]:.0f} ms more"
    return [
        *(Figure(f"{what}, {name}", value, Unit.MS) for name, value in medians.items()),
        Figure(f"{what}, bundled over own", ratio, Unit.RATIO, aim=1, why_missed=why),
    ]


def upgrades(form: Form, lab: Lab, lan: Lan) -> list[Figure]:
    """Return what upgrades and downgrades of a running node take, and how many pings it loses."""
    layers = [packages(DEFAULT, "rpm")] if form.name == "RPM package" else []
    node = lab.node("worker-0", nics=[lan], layers=layers, flavour=Flavour.OPENSHIFT, files=NO_BRIDGE)
    node.write(INSTALLER, build_sysext.script(), 0o755)
    files = dict(zip((OLD, NEW), furnished(form, node), strict=True))
    node.boot()
    node.wait_settled()
    node.run([*form.install, files[OLD]], timeout=120)
    node.reboot()
    before = published(node)
    progress(f"{UPGRADES} upgrades and downgrades: {form.name}")
    seconds = []
    with Pinger(lan, before[0][0]) as pinger:
        pinger.wait_for_reply()
        for build in [NEW, OLD] * (UPGRADES // 2):
            begun = time.monotonic()
            node.run([*form.install, files[build]], timeout=120)
            wait_for(node, build)
            after = published(node)
            seconds.append(time.monotonic() - begun)
            if after != before:
                raise SystemExit(f"{form.name}: {before} became {after}")
        pinger.wait_for_reply()
    detail = f"{UPGRADES} in turns, worst {max(seconds):.2f} s; from the command until nodenetd is ready again"
    lost = f"a ping each {EVERY * 1000:.0f} ms, {len(pinger.replies)} answered"
    return [
        Figure(f"{form.name}: upgrade or downgrade", median(seconds), Unit.SECONDS, detail=detail),
        Figure(f"{form.name}: pings lost", len(pinger.lost), Unit.TIMES, aim=0, detail=lost, why_missed=lost),
    ]


def furnished(form: Form, node: Node) -> Iterator[str]:
    """Put both versions of a form on a node that is off; yield their paths there."""
    tree = install_product(kind=Tree.BUNDLED)
    for build in (OLD, NEW):
        with tempfile.TemporaryDirectory() as scratch:
            made = form.pack(build, named(tree, build, Path(scratch) / "tree"), Path(scratch))
            place = f"/root/{build.version}"
            if form.pack is build_sysext.pack:  # a container has no loop devices: the image's content
                content = node.path(place)
                subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", content, made], check=True)
            else:
                node.write(place, made.read_bytes())
            yield place
