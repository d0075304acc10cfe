"""What have the stages found out so far, in this boot?"""

from __future__ import annotations

from nodenet.core.ip import Family, IPAddress
from nodenet.core.node_ip.select import Selection
from nodenet.core.value import frozen


@frozen
class Facts:
    """The known facts. Each stage gets them and returns them with what it found out. Orders are in `Request`."""

    hostname: str | None = None
    node_file: str | None = None
    """Name of the node file, without its directory; `a.yaml and a.yml` where two claim to be it."""
    digest: str | None = None
    """SHA-256 of the node file on the disk."""
    unused: tuple[str, str] | None = None
    """Name and SHA-256 of a node file that asks for nothing, and so is treated as absent."""
    applied_digest: str | None = None
    """SHA-256 of the node file that the network was last made by; differs when a newer file was refused."""
    brings_bridge: bool = False
    """Whether the node file makes br-ex by itself."""
    left_over: tuple[str, ...] = ()
    """What earlier node files have made and the present one does not name, by the entry of the history."""
    changed: tuple[str, ...] = ()
    """What another program has changed since of what the node file asks for."""
    file_families: frozenset[Family] = frozenset()
    """The families in which the node file gives the node a way out."""
    file_addresses: frozenset[IPAddress] = frozenset()
    """The addresses that the node file names."""
    renamed: tuple[tuple[str, str, str], ...] = ()
    """NICs that have another name than in the node file: that one, the name of now, the permanent MAC."""
    file_failure: str = ""
    """Why the node file failed in this boot, if it did."""
    selection: Selection | None = None
    bridge: str | None = None
    """The bridge that carries the node IP, once it is made."""
    uplink: str | None = None
    """The link below it."""
    hostname_source: str = ""
    """Where the name comes from, in words; empty for a static one."""

    @property
    def node_ip_links(self) -> tuple[str | None, ...]:
        """The link of each node IP, None where it is not known."""
        selection = self.selection or Selection()
        found = {each.address: each.link for each in selection.selected}
        if not selection.node_ips:
            return ()
        # What was selected on a link that is below a bridge now went there with the first one.
        before = found.setdefault(selection.node_ips[0], selection.link or "")
        links = (found.get(address) for address in selection.node_ips)
        return tuple(selection.link if link == before else link for link in links)

    def same_place(self, other: Facts) -> bool:
        """Return whether the node IPs are the same as in *other*, on the same link."""
        mine, theirs = self.selection or Selection(), other.selection or Selection()
        return (mine.node_ips, mine.link) == (theirs.node_ips, theirs.link)
