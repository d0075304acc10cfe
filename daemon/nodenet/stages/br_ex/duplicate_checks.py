"""How do addresses move between links of this host without being checked for duplicates again?

They were in use here a moment before. A second check makes an IPv6 address unusable for a second or two (duplicate
address detection, RFC 4862 section 5.4), and NetworkManager keeps an IPv4 address from the link for 0.12 to 0.17 s (RFC
5227; ``ipv4.dad-timeout`` of nm-settings(5)). Both defaults are changed for the time of the move only. What is changed
stands in a file below /run, so that a restarted daemon can restore it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePosixPath

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.ports import DnsManager, Files, Sysctls

log = structlog.get_logger()

ACCEPT_DAD = "net/ipv6/conf/accept_dad"
DAD_OWED = PurePosixPath("/run/nodenet/accept-dad")
"""Has the usual value while duplicate address detection is off."""
NO_PROBE = PurePosixPath("/run/NetworkManager/conf.d/95-nodenet-no-probe.conf")
PROBE_OWED = PurePosixPath("/run/nodenet/network-manager-probe")
"""Exists from before NO_PROBE is written until NetworkManager has read its configuration without it."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Names of links that mean themselves in a device list of NetworkManager.conf(5)."""


class DuplicateChecks:
    """The checks for duplicate addresses of the kernel and of NetworkManager."""

    def __init__(self, files: Files, sysctls: Sysctls, manager: DnsManager) -> None:
        """Let *manager* read its configuration after each change."""
        self._files = files
        self._sysctls = sysctls
        self._manager = manager
        self._logged = ""

    @contextlib.contextmanager
    def without_dad(self, addresses: Iterable[IPv4Address | IPv6Address], bridges: Collection[str]) -> Iterator[None]:
        """Let new links, *bridges* among them, take IPv6 *addresses* at once.

        A new link has the values of `default`.
        """
        usual = self._sysctls.read("default", ACCEPT_DAD)
        if usual is None or all(address.version == 4 for address in addresses):
            yield
            return
        self._files.write(DAD_OWED, usual.encode())
        self._sysctls.write("default", {ACCEPT_DAD: "0"})
        try:
            yield
        finally:
            self._restore_dad(bridges)

    @contextlib.asynccontextmanager
    async def without_probe(self, links: Iterable[str]) -> AsyncIterator[None]:
        """Let NetworkManager give these *links* their IPv4 addresses at once, where its configuration can be changed.

        Where it cannot, the move takes as long as the probe.
        """
        names = [name for name in links if _PLAIN_NAME.fullmatch(name)]
        try:
            if names:
                self._files.write(PROBE_OWED, b"")
                self._files.write(NO_PROBE, _configuration(names))
        except PublishFailed as error:
            log.debug(f"NetworkManager will probe for address conflicts: {error.cause}", stage="configure-ovs")
            with contextlib.suppress(PublishFailed):
                self._files.remove(PROBE_OWED)
            names = []
        if not names:
            yield
            return
        try:
            await self._manager.read_configuration()
            yield
        finally:
            await self._restore_probe()

    async def restore(self, bridges: Collection[str]) -> None:
        """Restore what an apply, of a killed daemon perhaps, left changed. Raises PublishFailed."""
        self._restore_dad(bridges)
        if self.owe_the_probe():
            await self._restore_probe()

    def owe_the_probe(self) -> bool:
        """Return whether NetworkManager may not probe at present. Raises PublishFailed."""
        return any(self._files.read(path) is not None for path in (PROBE_OWED, NO_PROBE))

    def _restore_dad(self, bridges: Collection[str]) -> None:
        if (usual := self._files.read(DAD_OWED)) is None:
            return
        for link in ("default", *(bridge for bridge in bridges if self._sysctls.read(bridge, ACCEPT_DAD))):
            self._sysctls.write(link, {ACCEPT_DAD: usual.decode()})
        self._files.remove(DAD_OWED)

    async def _restore_probe(self) -> None:
        try:
            self._files.remove(NO_PROBE)
            # Where NetworkManager does not answer now, the next attempt asks it again.
            if await self._manager.read_configuration() is None:
                self._files.remove(PROBE_OWED)
        except PublishFailed as error:  # no reason to fail an apply; the next attempt removes it
            if error.cause != self._logged:
                self._logged = error.cause
                log.warning(error.cause, stage="configure-ovs", remedy=error.remedy)


def _configuration(links: Iterable[str]) -> bytes:
    """Return a part of NetworkManager.conf(5) that switches the probe off for *links*."""
    devices = ",".join(f"interface-name:{link}" for link in links)
    return (
        "# Written by nodenet while it moves addresses between these links; it removes the file afterwards.\n"
        f"[connection-nodenet-no-probe]\nmatch-device={devices}\nipv4.dad-timeout=0\n"
    ).encode()
