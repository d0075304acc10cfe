"""Which files does nodenet have on a node beside its packages, and where are they?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_interpreter import Interpreter

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
LIBRARY = "usr/lib/nodenet"
"""Packages, and the bundled interpreter where there is one."""
LAUNCHERS = {
    "usr/libexec/nodenetd": "nodenet.daemon",
    "usr/libexec/nodenet-hosted": "nodenet.hosted.process",
    "usr/libexec/nodenet-ipam": "nodenet.cni.process",
    "usr/libexec/nodenet/cni/install-plugin": "nodenet.cni.install_plugin",
    "usr/libexec/nodenet/former-chain": "nodenet.cli.adoption.gather",
    "usr/libexec/nodenet/undo-keyfiles": "nodenet.cli.undo_keyfiles",
    "usr/bin/nodenetctl": "nodenet.cli.main",
}
UNITS = {
    # below units/ → below DESTDIR
    "nodenetd.service": "usr/lib/systemd/system/nodenetd.service",
    "nodenet-ready.service": "usr/lib/systemd/system/nodenet-ready.service",
    "nodenet-undo.service": "usr/lib/systemd/system/nodenet-undo.service",
    "nodenet-wait@.service": "usr/lib/systemd/system/nodenet-wait@.service",
    "nodenet-hosted.service": "usr/lib/systemd/system/nodenet-hosted.service",
    "nodenet-dnsmasq.service": "usr/lib/systemd/system/nodenet-dnsmasq.service",
    "nodenet-keepalived.service": "usr/lib/systemd/system/nodenet-keepalived.service",
    "nodenet-haproxy.service": "usr/lib/systemd/system/nodenet-haproxy.service",
    "nodenet-ipam.service": "usr/lib/systemd/system/nodenet-ipam.service",
    "nodenet.preset": "usr/lib/systemd/system-preset/80-nodenet.preset",
    "nodenet.tmpfiles.conf": "usr/lib/tmpfiles.d/nodenet.conf",
    "nodenet.sysusers.conf": "usr/lib/sysusers.d/nodenet.conf",
    "nodenet.catalog": "usr/lib/systemd/catalog/nodenet.catalog",
    "dbus/org.nodenet1.conf": "usr/share/dbus-1/system.d/org.nodenet1.conf",
    "dbus/org.nodenet1.Hosted.conf": "usr/share/dbus-1/system.d/org.nodenet1.Hosted.conf",
    "dbus/org.nodenet1.Ipam.conf": "usr/share/dbus-1/system.d/org.nodenet1.Ipam.conf",
    "dbus/org.nodenet1.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Manager.xml",
    "dbus/org.nodenet1.Stage.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Stage.xml",
    "dbus/org.nodenet1.Hosted.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Hosted.xml",
    "dbus/org.nodenet1.Ipam.xml": "usr/share/dbus-1/interfaces/org.nodenet1.Ipam.xml",
    "nodenet.toml": "usr/share/nodenet/nodenet.toml",
    "completions/nodenetctl.bash": "usr/share/bash-completion/completions/nodenetctl",
    "completions/_nodenetctl": "usr/share/zsh/site-functions/_nodenetctl",
    "completions/nodenetctl.fish": "usr/share/fish/vendor_completions.d/nodenetctl.fish",
    **{
        f"compat/{unit.name}": f"usr/lib/systemd/system/{unit.name}"
        for unit in sorted((ROOT / "units" / "compat").iterdir())
    },
}
UNUSED = (
    *(f"pyroute2/{name}" for name in ("arp.py", "bsd", "decoder", "dhcp", "ext", "fixtures", "inotify", "minimal.py")),
    *("pyroute2/netns/manager.py", "pyroute2/nftables", "pyroute2/wirouting"),
    *(f"pyroute2/iproute/{name}.py" for name in ("bsd", "darwin", "windows")),  # of other systems
)
"""Parts of the Python packages that nothing of nodenet, and nothing else in these packages, imports on Linux."""
CNI_PLUGIN = "usr/libexec/nodenet/cni/nodenet-ipam"
CLUSTER = {
    # below packaging/cluster/ → below DESTDIR
    path.relative_to(HERE / "cluster").as_posix(): f"usr/share/nodenet/cluster/{path.relative_to(HERE / 'cluster')}"
    for path in sorted((HERE / "cluster").rglob("*.yaml"))
}
OWN_DIRECTORIES = (
    *("usr/libexec/nodenet/cni", "usr/libexec/nodenet", "usr/share/nodenet/cluster/examples"),
    "usr/share/nodenet/cluster/persistent-ips",
    *("usr/share/nodenet/cluster", "usr/share/nodenet"),
)
"""What is removed when it is empty, the inner ones first."""
MANUAL = {
    # below docs/man/ → below DESTDIR
    "nodenetctl.1": "usr/share/man/man1/nodenetctl.1",
    "nodenet.toml.5": "usr/share/man/man5/nodenet.toml.5",
    "nodenetd.8": "usr/share/man/man8/nodenetd.8",
    "nodenet-ipam.8": "usr/share/man/man8/nodenet-ipam.8",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the packages are below the root, and whose Python runs them."""

    library: str = LIBRARY
    interpreter: Interpreter | None = None
    """The bundled one; None: the node's own."""

    @property
    def python(self) -> str:
        """The program that runs nodenet."""
        return f"/{self.library}/python/bin/python3" if self.interpreter else "/usr/bin/python3"

    @property
    def options(self) -> str:
        """Its options: isolated; the bundled one in UTF-8 mode, because it does not have every locale's encoding."""
        return "-IXutf8" if self.interpreter else "-I"


def version() -> str:
    """Return nodenet's version: the one place that has it is the package itself."""
    text = (ROOT / "daemon/nodenet/__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return str(found)
