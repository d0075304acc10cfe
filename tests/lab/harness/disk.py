"""What is a node's disk?

An overlay: the shared root file system below, layers over it (the product's tree, the stubs), and a tmpfs of
bounded size on top for what this node writes. It lives as long as its node, over reboots and power cuts.
"""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import host

SIZE = "512m"
"""Most that one node can write; a node writes about 10 MB in its first boot."""

SETTINGS: Mapping[str, str] = {
    # NetworkManager takes the local port of a userspace bridge for a device of its own.
    "/etc/NetworkManager/conf.d/10-lab.conf": "[keyfile]\nunmanaged-devices=type:tun\n",
    "/etc/systemd/journald.conf.d/10-lab.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=64M\n",
    "/etc/resolv.conf": "",
    # Newer than /usr: no boot makes caches and databases again that the packages of the image have made.
    "/etc/.updated": "",
    "/var/.updated": "",
}


class Disk:
    """The root file system of one node, seen from this machine."""

    def __init__(self, directory: Path, rootfs: Path, layers: Sequence[Path]) -> None:
        self.root = directory / "root"
        self.scratch = directory / "scratch"
        """The tmpfs; logs about the node lie there too, bounded with it."""
        self.root.mkdir(parents=True)
        self.scratch.mkdir()
        host.call(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "nodenet-lab", self.scratch])
        upper, work = self.scratch / "upper", self.scratch / "work"
        upper.mkdir()
        work.mkdir()
        lower = ":".join(str(layer) for layer in [*reversed(layers), rootfs])
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        host.call(["mount", "-t", "overlay", "-o", options, "overlay", self.root])

    def furnish(self, hostname: str | None) -> None:
        """Write what every installed node has: settings, a machine id, a host name."""
        for name, text in SETTINGS.items():
            self.write(name, text)
        self.write("/etc/machine-id", f"{uuid.uuid4().hex}\n", mode=0o444)
        if hostname is not None:
            self.write("/etc/hostname", f"{hostname}\n")

    def path(self, name: str) -> Path:
        """Return this machine's path of the node's file with that absolute name."""
        return self.root / name.lstrip("/")

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        """Write a file of the node and its directories; the file is replaced by rename."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.lab")
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)
        fresh.chmod(mode)
        fresh.replace(path)
        return path

    def enable(self, *units: str) -> None:
        """Enable units as an administrator does on a node that is not running."""
        host.call(["systemctl", f"--root={self.root}", "--quiet", "enable", *units])

    def remove(self) -> None:
        """Remove the disk."""
        host.call(["umount", "--lazy", self.root])
        host.call(["umount", "--lazy", self.scratch])
        self.root.rmdir()
        self.scratch.rmdir()
