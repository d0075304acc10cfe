"""How does a LAN become a VLAN on another LAN's cables?

By a switch between the two: `tagger.py`, in a network namespace of its own.
"""

import sys
from pathlib import Path

from harness import Lab, Lan, host
from harness import namespaces as ns

TAGGER = Path(__file__).with_name("tagger.py")


class Trunk:
    """A tagged LAN: what `access` carries goes over `trunk` with the tag `vid`; gone with its lab."""

    def __init__(self, lab: Lab, trunk: Lan, vid: int) -> None:
        name = f"vlan{vid}"
        self.access = lab.lan(name)
        self._trunk = trunk
        self._netns = f"nodenet-{lab.state.name}-{name}-tagger"
        self._group = host.cgroups() / f"nodenet-lab-{lab.state.name}" / f"tagger-{name}"
        number = lab.own(name, self)
        self._port = f"g{number}"
        ns.make_netns(self._netns)
        ns.inside(self._netns, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        for link, lan, mac in (("trunk", trunk, 0), ("access", self.access, 1)):
            lan.plug(self._port, self._netns, link, f"52:54:00:97:{number:02x}:{mac:02x}")
            ns.ip(self._netns, "link", "set", link, "up", "promisc", "on")
        self._log = lab.state / f"{name}.tagger.log"
        argv: list[str | Path] = ["ip", "netns", "exec", self._netns, sys.executable, "-S", TAGGER, str(vid)]
        self._process = ns.start_in_cgroup(self._group, argv, output=self._log)
        host.eventually(lambda: "ready" in self._log.read_text(), f"the switch of {name}", timeout=10)

    def keep(self, directory: Path) -> None:
        """Save the switch's log."""
        (directory / self._log.name).write_text(self._log.read_text())

    def remove(self) -> None:
        """Remove the switch and its cables."""
        ns.end(self._process)
        ns.kill_cgroup(self._group)
        for lan in (self._trunk, self.access):
            lan.unplug(self._port)
        ns.remove_netns(self._netns)
