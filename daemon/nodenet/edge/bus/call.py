"""What becomes of a D-Bus method call: an answer, a refusal, silence, or the end of the bus itself?

dbus-next ends the calls that wait when their connection ends, with whatever ended it. A call that begins on a dead
connection would never return: none begins there, and every call has a deadline.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dbus_next.constants import MessageType

from nodenet.core.errors import Unavailable

if TYPE_CHECKING:
    from dbus_next.message import Message

NOBODY = (".ServiceUnknown", ".NameHasNoOwner", ".NoReply", ".Disconnected")
"""How the errors end that the bus itself answers with where a service is not there, or no longer."""


class Refused(Exception):
    """The called service answered with a D-Bus error."""

    def __init__(self, name: str, text: str) -> None:
        """Keep the error's *name*, which programs look at, and its *text*, which people read."""
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


async def answer_to(message: Message, bus: Any, seconds: float) -> list[Any]:  # noqa: ANN401  (dbus-next has no types)
    """Send a method call over a connection of dbus-next's, None: there is none; return the body of its reply.

    Raises Unavailable when there is no bus or it goes away, nobody owns the destination or no reply comes within
    *seconds*; Refused when the service answers with another error.
    """
    if bus is None or not bus.connected:
        raise Unavailable("the system bus does not answer")
    try:
        # Not wait_for: before Python 3.12 it swallows a cancellation that comes with the reply.
        async with asyncio.timeout(seconds):
            reply = await bus.call(message)
    except TimeoutError as error:
        raise Unavailable(f"no answer from {message.destination} within {seconds:g} s") from error
    except Exception as error:  # a message that dbus-next cannot read ends the connection too
        if bus.connected:
            raise
        raise Unavailable(f"the system bus went away before {message.destination} answered") from error
    if reply.message_type is MessageType.ERROR:
        if reply.error_name.endswith(NOBODY):
            raise Unavailable(f"{message.destination} is not on the bus")
        raise Refused(reply.error_name, str(reply.body[0]) if reply.body else "")
    return list(reply.body)
