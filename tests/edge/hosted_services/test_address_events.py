"""Addresses of a real kernel that come and go."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import closing

import pytest

from edge.namespace import Namespace
from nodenet.edge.hosted_services.wire import AddressEvents

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)


def test_each_change_of_an_address_ends_a_wait_and_others_do_not() -> None:
    with closing(Namespace()) as space:
        space.ip("link add eth0 type veth peer name far0", "link set eth0 up")

        async def listen() -> list[bool]:
            with closing(AddressEvents()) as events:
                await events.next()  # at once
                found = []
                for change in (
                    "address add 192.0.2.10/24 dev eth0",
                    "address delete 192.0.2.10/24 dev eth0",
                    "address add 2001:db8::10/64 dev eth0 nodad",
                    "link set eth0 mtu 1400",
                ):
                    await asyncio.to_thread(space.ip, change)
                    try:
                        async with asyncio.timeout(0.3 if "mtu" in change else 10):
                            await events.next()
                        found.append(True)
                    except TimeoutError:
                        found.append(False)
                return found

        assert space.call(lambda: asyncio.run(listen())) == [True, True, True, False]


async def test_a_listener_that_was_closed_listens_again_at_its_next_wait() -> None:
    events = AddressEvents()
    for _ in range(2):
        async with asyncio.timeout(5):
            await events.next()
        events.close()
        events.close()
