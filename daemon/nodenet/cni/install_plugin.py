"""How does the CNI plugin get to where container runtimes look? ``nodenet-ipam.service`` runs this at each start.

It runs outside the sandbox of the service, because the directories are settings. A runtime may execute the plugin at
any moment: it finds the older file or the new one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.settings.parse import parse
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.systemd import journal

log = structlog.get_logger()

PLUGIN = Path("/usr/libexec/nodenet/cni/nodenet-ipam")
MOST_BYTES = 64 << 20


def main() -> int:
    """Copy the plugin; return 1 if a directory did not get it, 78 for invalid settings."""
    journal.configure("nodenet-ipam")
    try:
        directories = parse(settings_files.read()).settings.ipam.cni_bin_dirs
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return error.exit_code
    return 0 if install(PLUGIN, [Path(directory) for directory in directories]) else 1


def install(plugin: Path, directories: Sequence[Path]) -> bool:
    """Copy *plugin* into each directory that exists; return whether each of them has it now."""
    there = [directory for directory in directories if directory.is_dir()]
    if not there:
        shown = ", ".join(map(str, directories)) or "none"
        cause = f"No directory of CNI plugins exists (`[ipam] cni_bin_dirs`: {shown})"
        _failed(cause, "Set it to the directory of the container runtime (containerd: bin_dir, CRI-O: plugin_dirs)")
        return False
    copied = [
        _copy(plugin, directory / plugin.name) for directory in there
    ]  # a failure does not keep the others from it
    return all(copied)


def _copy(plugin: Path, target: Path) -> bool:
    try:
        content = disk.read(plugin, MOST_BYTES)
        if content is None:
            _failed(f"{plugin} does not exist", "Install nodenet again")
            return False
        if disk.write(target, content, 0o755):
            log.info(f"{target} is installed")
    except PublishFailed as error:
        _failed(error.cause, error.remedy)
        return False
    return True


def _failed(cause: str, remedy: str) -> None:
    log.error(cause, message=Message.IPAM_FAILED, cause=cause, remedy=remedy)


if __name__ == "__main__":
    sys.exit(main())
