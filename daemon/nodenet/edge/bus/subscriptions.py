"""Which signals come from the program that they claim to come from?

Any local user can send a signal with any path, interface and member to a connection. Only the sender cannot be
forged: the bus writes the unique name of the connection into each message. A subscription names its sender, and the
bus reports which connection owns that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nodenet.core.value import frozen
from nodenet.edge.bus.frames import Frame

BUS_NAME = "org.freedesktop.DBus"
BUS_PATH = "/org/freedesktop/DBus"
Handler = Callable[[Sequence[Any]], None]


@frozen
class Signal:
    """Which signals are wanted (D-Bus specification, "Match Rules")."""

    sender: str
    """The well-known name whose owner sends it."""
    path: str
    interface: str
    member: str
    argument: tuple[int, str] | None = None
    """The position of an argument, and the string it must be."""

    @property
    def rule(self) -> str:
        """The match rule for the bus."""
        keys = {"sender": self.sender, "path": self.path, "interface": self.interface, "member": self.member}
        keys |= {f"arg{self.argument[0]}": self.argument[1]} if self.argument else {}
        return ",".join(["type='signal'", *(f"{key}='{value}'" for key, value in keys.items())])


def name_owner_changed(name: str) -> Signal:
    """Return the signal that *name* has another owner, or none."""
    return Signal(BUS_NAME, BUS_PATH, BUS_NAME, "NameOwnerChanged", (0, name))


class Subscriptions:
    """The signals that are wanted, and the connections that own the names of their senders."""

    def __init__(self) -> None:
        """Begin with none."""
        self._wanted: list[tuple[Signal, Handler]] = []
        self._owners: dict[str, str] = {BUS_NAME: BUS_NAME}

    def add(self, signal: Signal, handler: Handler) -> None:
        """Pass the body of each such signal to *handler*."""
        self._wanted.append((signal, handler))

    @property
    def senders(self) -> set[str]:
        """The names whose owners must be known."""
        return {signal.sender for signal, _ in self._wanted} - {BUS_NAME}

    @property
    def rules(self) -> set[str]:
        """The match rules of all subscriptions, and of the owners of their senders."""
        owners = {name_owner_changed(name).rule for name in self.senders}
        return {signal.rule for signal, _ in self._wanted} | owners

    def forget_owners(self) -> None:
        """Begin with a new connection: nothing is known about it."""
        self._owners = {BUS_NAME: BUS_NAME}

    def owner_is(self, name: str, owner: str) -> None:
        """Store the bus's answer that *owner* owns *name*, unless a change was reported since: that is newer."""
        self._owners.setdefault(name, owner)

    def has_owner(self, name: str) -> bool | None:
        """Return whether a connection owns *name*, None while the bus has not said it."""
        return None if name not in self._owners else bool(self._owners[name])

    def owner_changed(self, frame: Frame) -> None:
        """Take the bus's report of another owner, if *frame* is one."""
        if (frame.sender, frame.member, frame.path) == (BUS_NAME, "NameOwnerChanged", BUS_PATH):
            name, _, owner = frame.values()
            if name in self.senders:
                self._owners[name] = owner

    def wants(self, frame: Frame) -> bool:
        """Return whether the signal *frame* comes from the right sender and has a handler."""
        return next(self._for(frame), None) is not None or frame.sender == BUS_NAME

    def deliver(self, frame: Frame, failed: Callable[[Exception], None]) -> None:
        """Pass a signal to its handlers; *failed* gets what a handler raises, and the other handlers still run."""
        for signal, handler in tuple(self._for(frame)):
            try:
                body = frame.values()
                if signal.argument is None or body[signal.argument[0]] == signal.argument[1]:
                    handler(body)
            except Exception as error:  # noqa: BLE001  (reported by *failed*)
                failed(error)

    def _for(self, frame: Frame) -> Iterator[tuple[Signal, Handler]]:
        header = (frame.path, frame.interface, frame.member)
        for signal, handler in self._wanted:
            if (signal.path, signal.interface, signal.member) == header:
                owner = self._owners.get(signal.sender)
                if owner and owner == frame.sender:
                    yield signal, handler
