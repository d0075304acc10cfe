"""The real dnsmasq on a private bus, in a network namespace of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from edge.bus.test_connection import quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dnsmasq import BUS_NAME
from nodenet.edge.hosted_services.servers import Dnsmasq

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("dnsmasq") is None, reason="needs root and dnsmasq")
SECONDS = 10.0


@contextlib.contextmanager
def dnsmasq(bus: PrivateBus, directory: Path) -> Iterator[Path]:
    """Run dnsmasq; give the file with its log."""
    hosts, log = directory / "hosts", directory / "log"
    hosts.write_text("192.0.2.2 api-int.c.example.com\n")
    options = ["--port=53", "--no-resolv", "--no-hosts", f"--addn-hosts={hosts}", f"--enable-dbus={BUS_NAME}"]
    options += ["--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--pid-file=", "--log-facility=-"]
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": bus.address}
    with log.open("w") as output:
        process = subprocess.Popen(["unshare", "--net", "dnsmasq", *options], env=environment, stderr=output)
    try:
        yield log
    finally:
        process.kill()
        process.wait()


async def until(wanted: object, look: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(SECONDS):
        while await look() != wanted:
            await asyncio.sleep(0.02)


async def test_servers_are_set_and_the_hosts_file_is_read_again(private_bus: PrivateBus, tmp_path: Path) -> None:
    heard: list[str] = []
    bus = quiet(private_bus.address)
    ours = Dnsmasq(bus, lambda: heard.append("changed"))
    async with running(bus):
        assert await bus.wait_up(5)
        assert await ours.owner() is None
        with pytest.raises(Unavailable):
            await ours.set_servers([["192.0.2.1"]])
        with dnsmasq(private_bus, tmp_path) as log:

            async def present() -> bool:
                return await ours.owner() is not None

            await until(wanted=True, look=present)
            assert heard
            await ours.set_servers([["127.0.0.1#5354", "c.example.com"], ["192.0.2.1"], ["2001:db8::1"]])
            await ours.read_hosts()
            text = log.read_text()
            assert "using nameserver 127.0.0.1#5354 for domain c.example.com" in text
            assert "using nameserver 192.0.2.1#53" in text
            assert "using nameserver 2001:db8::1#53" in text
            assert text.count(f"read {tmp_path}/hosts") == 2
            await ours.set_servers([])
        await until(wanted=None, look=ours.owner)
        assert len(heard) >= 2
