"""A program that works against nodenetd from the beginning of each boot."""

from __future__ import annotations

from harness import Node

_PROGRAM = "/usr/local/bin/saboteur"
_UNIT = f"""[Unit]
DefaultDependencies=no
Before=nodenetd.service
[Service]
ExecStart={_PROGRAM}
[Install]
WantedBy=sysinit.target
"""


def add_saboteur(node: Node, script: str) -> None:
    """Let *script* run on the node, which has not booted yet, as ``saboteur.service``."""
    node.write("/etc/systemd/system/saboteur.service", _UNIT)
    node.write(_PROGRAM, script, 0o755)
    node.enable("saboteur.service")
