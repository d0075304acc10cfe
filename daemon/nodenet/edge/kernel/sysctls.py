"""Which of the kernel's settings does a link have? (/proc/sys/net, ip-sysctl in the kernel's documentation)

Read and written as files, never by sysctl(8): a dot in a link's name, as in ``bond0.354``, is a separator there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nodenet.core.errors import Unavailable

ROOT = Path("/proc/sys")
AREAS = ("net/ipv4/conf", "net/ipv6/conf")
_SECRET = "stable_secret"  # noqa: S105  (the name of a file, not what is in it)


class Sysctls:
    """The settings of links, by name below /proc/sys with the link left out: ``net/ipv4/conf/forwarding``.

    The link ``default`` has those of every new link.
    """

    def __init__(self, root: Path = ROOT) -> None:
        """Look below *root*."""
        self._root = root

    def of_link(self, link: str) -> dict[str, str]:
        """Return all settings of *link*, a hundred (2 ms); none of one that is gone."""
        found = {}
        for area in AREAS:
            directory = self._file(link, f"{area}/x").parent
            names = sorted(file.name for file in directory.iterdir()) if directory.is_dir() else []
            for name in (f"{area}/{name}" for name in names if name != _SECRET):
                if (value := self.read(link, name)) is not None:
                    found[name] = value
        return found

    def read(self, link: str, name: str) -> str | None:
        """Return one setting, None when link or setting is not there."""
        try:
            return self._file(link, name).read_text().strip()
        except OSError:
            return None

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Set what differs; return the names of what did. Raises Unavailable naming the file that took no value."""
        changed = tuple(name for name, value in values.items() if self.read(link, name) != value)
        for name in changed:
            file = self._file(link, name)
            try:
                file.write_text(f"{values[name]}\n")
            except OSError as error:
                raise Unavailable(f"{file} cannot be set to {values[name]}: {error.strerror}") from error
        return changed

    def _file(self, link: str, name: str) -> Path:
        area, _, key = name.rpartition("/")
        if area not in AREAS or key in ("", ".", "..") or "/" in link or link in ("", ".", ".."):
            raise ValueError(f"{name!r} of {link!r} is no setting of a link")
        return self._root / area / link / key
