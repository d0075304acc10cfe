"""What do the daemon's first looks at the bus and at the kernel cost?

Runs on the node: `parts.py DIRECTORY-OF-NODENET`. Prints seconds.
"""

import asyncio
import sys
import time

sys.path.insert(0, sys.argv[1])

from dbus_next.aio import MessageBus
from dbus_next.constants import BusType

from nodenet.edge.kernel import netlink


async def connect() -> None:
    """Say Hello to the system bus."""
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    bus.disconnect()


begun = time.monotonic()
asyncio.run(connect())
connected = time.monotonic()
netlink.snapshot()
read = time.monotonic()
sys.stdout.write(f'{{"bus": {connected - begun}, "kernel": {read - connected}}}')
