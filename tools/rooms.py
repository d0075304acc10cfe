"""Which room may import which? The one list: tests/test_house.py holds the code to it, tools/make_map.py draws it.

A room is a folder or a module below ``daemon/nodenet/core``, ``stages`` or ``edge``, or one of those beside them.
"""

from __future__ import annotations

from collections.abc import Mapping

CORE: Mapping[str, tuple[str, ...]] = {
    "metrics": (),
    "settings": (),
    "hostname": (),
    "resolver": (),
    "nmstate": (),
    "network_manager": (),
    "kernel": (),
    "node_file": ("hostname", "nmstate"),
    "report": ("node_file",),
    "day_one": ("hostname", "node_file", "node_ip", "settings"),
    "open_vswitch": ("network_manager",),
    "ownership": ("kernel", "network_manager", "nmstate", "open_vswitch"),
    "apply": ("kernel", "network_manager", "nmstate", "node_file"),
    "change": ("apply", "network_manager"),
    "trial": ("kernel", "network_manager", "nmstate", "node_file", "resolver"),
    "history": ("change", "network_manager", "node_file"),
    "node_ip": ("kernel", "network_manager", "settings"),
    "br_ex": ("change", "network_manager", "nmstate", "open_vswitch", "settings"),
    "boot": ("node_ip",),
    "adoption": ("boot", "br_ex", "network_manager", "trial"),
    "boot_report": (),
    "page": ("boot_report", "report"),
    "fleet": ("apply", "br_ex", "history", "hostname", "kernel", "node_file", "node_ip", "page"),
    "uplink_health": ("boot", "kernel", "network_manager", "open_vswitch"),
    "probes": ("kernel", "nmstate", "node_file", "settings", "uplink_health"),
    "status": ("boot", "metrics", "node_ip", "trial"),
    "hosted_services": ("boot", "kernel", "metrics", "node_file", "open_vswitch", "settings", "status"),
    "hosted_cluster": ("hosted_services", "metrics"),
    "persistent_ips": ("metrics", "status"),
    "unit_stage": ("boot", "hostname", "kernel", "node_file", "node_ip", "resolver"),
}
"""Room of core → the rooms of core that it may import; each may import the modules of ``core`` itself."""

STAGES = ("core", "ports", "stage_edges", "stages.apply")
"""What every room of stages may import beside itself; ``core`` with all its rooms. No stage imports another one."""

EDGE: Mapping[str, tuple[str, ...]] = {
    "adoption": ("core.boot", "edge.clock", "edge.files"),
    "archive": (),
    "bus": ("core.boot", "core.status", "core.trial"),
    "clock": (),
    "files": (),
    "fleet": ("core.report", "edge.archive"),
    "hosted_services": (
        "core.kernel",
        "core.resolver",
        "edge.bus",
        "edge.files",
        "edge.kernel",
        "edge.kubernetes",
        "edge.resolver",
        "edge.systemd",
    ),
    "hostname": ("edge.bus",),
    "kernel": ("core.node_ip", "core.ownership"),
    "metrics": ("edge.files",),
    "kubernetes": ("core.hosted_services", "core.persistent_ips"),
    "network_manager": ("core.resolver", "edge.bus"),
    "nmstate": ("core.node_file", "core.ownership"),
    "open_vswitch": (),
    "persistent_ips": (),
    "probes": ("core.settings",),
    "report": ("core.history", "edge.files"),
    "resolver": ("edge.bus", "edge.files", "edge.systemd"),
    "systemd": ("core.network_manager", "core.node_ip", "core.unit_stage", "edge.bus"),
}
"""Room of edge → what it may import beside the modules of ``core`` itself and the room of core that has its name."""

OTHERS: Mapping[str, tuple[str, ...]] = {
    "core": (),
    "ports": ("core",),
    "stage_edges": ("core", "ports"),
    "loop": (
        "core.boot",
        "core.settings",
        "core.kernel",
        "core.resolver",
        "core.status",
        "core.trial",
        "core.uplink_health",
        "ports",
    ),
    "inputs": ("core", "loop.reload", "stage_edges", "stages"),
    "assembly": ("core", "edge", "inputs", "loop.uplink", "stage_edges", "stages"),
    "daemon": (
        "core",
        "edge",
        "assembly",
        "loop.background",
        "loop.reconciler",
        "loop.uplink",
        "ports",
    ),
    "hosted": ("core", "edge", "loop.background", "ports"),
    "cni": ("core", "edge", "loop.background", "ports"),
    "cluster_operator": ("core", "edge", "hosted.follower", "loop.background", "ports"),
    "cli": ("core", "edge"),
}
"""Everything beside the rooms of core, stages and edge; who may import ``core`` as a whole may import its rooms."""

EXCEPTIONS: Mapping[str, tuple[str, ...]] = {
    # A libnmstate that takes no text gets the document as our own reader understands it; imported for that one only.
    "edge.nmstate.worker": ("core.node_file.yaml_text",),
    # There is one judgement of node files.
    "cli.check": ("stages.apply.node_file",),
    "cli.preview": ("stages.apply.node_file", "stages.apply.policies"),
    # The daemon and the command must gather the same facts.
    "cli.facts_here": ("stages.br_ex.gather",),
}
"""Single modules → what they may import beyond their room."""

ALONE = ("edge.nmstate.worker", "edge.kernel.watcher", "edge.probes.https_request")
"""Programs that run in a process of their own and must start quickly: they import nothing of ours."""


def room_of(module: str) -> str:
    """Return the room of *module*, both without the leading ``nodenet.``: ``core.br_ex.plan`` is in ``core.br_ex``."""
    parts = module.split(".")
    rooms = {"core": CORE, "edge": EDGE}.get(parts[0])
    if len(parts) > 1 and (parts[0] == "stages" or (rooms is not None and parts[1] in rooms)):
        return ".".join(parts[:2])
    return parts[0]


def allowed(module: str) -> tuple[str, ...]:
    """Return the prefixes of modules that *module* may import. Raises KeyError for a room that is not listed."""
    if module in ALONE:
        return EXCEPTIONS.get(module, ())
    room = room_of(module)
    family, _, name = room.partition(".")
    beyond = EXCEPTIONS.get(module, ())
    if family == "core" and name:
        return (room, *(f"core.{other}" for other in CORE[name]))
    if family == "stages":
        return (room, *STAGES)
    if family == "edge" and name:
        own = (f"core.{name}",) if name in CORE else ()
        return (room, *own, *EDGE[name])
    return (room, *OTHERS[room], *beyond)


def floors() -> list[list[str]]:
    """Return the rooms of core by floor: a room imports rooms of lower floors only. Raises ValueError for a circle."""
    made: list[list[str]] = []
    left = dict(CORE)
    below: set[str] = set()
    while left:
        floor = [room for room, others in left.items() if below.issuperset(others)]
        if not floor:
            raise ValueError(f"the rooms {', '.join(left)} import each other in a circle")
        made.append(floor)
        below.update(floor)
        left = {room: others for room, others in left.items() if room not in below}
    return made
