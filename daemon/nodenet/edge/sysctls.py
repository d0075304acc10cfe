"""Which of the kernel's settings does a link have? (/proc/sys/net, ip-sysctl in the kernel's documentation)

Read and written as files, never by sysctl(8): a dot in a link's name, as in ``bond0.354``, is a separator there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nodenet.core.errors import Unavailable

ROOT = Path("/proc/sys")
DEFAULT = "default"
"""The link whose values every new link begins with."""
_KEPT = {
    "net/ipv4/conf": (
        *("accept_local", "accept_redirects", "accept_source_route", "arp_accept", "arp_announce", "arp_filter"),
        *("arp_ignore", "arp_notify", "disable_policy", "disable_xfrm", "drop_gratuitous_arp", "forwarding"),
        *("log_martians", "proxy_arp", "route_localnet", "rp_filter", "secure_redirects", "send_redirects"),
        *("src_valid_mark",),
    ),
    "net/ipv6/conf": (
        *("accept_dad", "accept_ra", "accept_redirects", "accept_source_route", "accept_untracked_na"),
        *("dad_transmits", "disable_ipv6", "drop_unsolicited_na", "forwarding", "hop_limit", "max_addresses"),
        *("ndisc_notify", "optimistic_dad", "proxy_ndp", "suppress_frag_ndisc", "use_tempaddr", "use_oif_addrs_only"),
    ),
}
"""What an administrator sets for a link and expects to hold for the address behind it, wherever that moves."""


class Sysctls:
    """The settings of links, by name below /proc/sys with the link left out: ``net/ipv4/conf/forwarding``."""

    def __init__(self, root: Path = ROOT) -> None:
        """Look below *root*."""
        self._root = root

    def of_link(self, link: str) -> dict[str, str]:
        """Return the settings of *link*; those that this kernel lacks are left out, all when the link is gone."""
        found: dict[str, str] = {}
        for area, names in _KEPT.items():
            for name in names:
                with suppress(OSError):
                    found[f"{area}/{name}"] = self._file(f"{area}/{name}", link).read_text().strip()
        return found

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Set what differs; return the names of what did. Raises Unavailable naming the file that took no value."""
        changed = []
        for name, value in values.items():
            file = self._file(name, link)
            try:
                if file.read_text().strip() != value:
                    file.write_text(f"{value}\n")
                    changed.append(name)
            except OSError as error:
                raise Unavailable(f"{file} cannot be set to {value}: {error.strerror}") from error
        return tuple(changed)

    def _file(self, name: str, link: str) -> Path:
        area, _, key = name.rpartition("/")
        if area not in _KEPT or key in ("", ".", "..") or "/" in link or link in ("", ".", ".."):
            raise ValueError(f"{name!r} of link {link!r} is no setting of a link")
        return self._root / area / link / key
