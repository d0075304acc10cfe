"""When does the silence of DNS servers make the node degraded, and what is reported?

The one rule: a node needs DNS from the first answer that a DNS server of another host gave to this nodenetd. From then
on it is a loss if none of the servers that are listed now answers, also where they are others than before, and if none
is listed at all. A node that a server has never answered has lost nothing, and servers on the node itself are not
asked: where only they are listed, nothing is known to be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Self

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.uplink_health.health import FINE, NAME_SERVER, Condition
from nodenet.core.value import frozen


@frozen
class DnsServers:
    """What is reported about the DNS servers, and what the last look found.

    *listed*: the servers of other hosts. *had*: those that have answered; once none of the list does, they are kept.
    """

    condition: Condition = FINE
    listed: tuple[IPAddress, ...] = ()
    had: tuple[IPAddress, ...] = ()

    def seen(self, now: float, listed: Sequence[IPAddress], answered: Collection[IPAddress], *, has_own: bool) -> Self:
        """Return what is known after a look at *now* (CLOCK_BOOTTIME), where *answered* of those *listed* answered.

        *has_own*: whether a server on the node is listed too.
        """
        lost = bool(self.had) and not answered and (bool(listed) or not has_own)
        had = tuple(each for each in listed if each in answered or each in self.had) if answered else self.had
        return type(self)(self.condition.seen(now, NAME_SERVER, lost=lost), tuple(listed), had)

    def unknown(self) -> Self:
        """Return what is known after a look that found no answer, where the network itself explains that."""
        return replace(self, condition=replace(self.condition, differs=None))

    def unwatched(self) -> Self:
        """Return what is known when nothing is watched any more: only what answered."""
        return type(self)(had=self.had)

    def problem(self, in_words: Callable[[float], str]) -> Problem | None:
        """Return what is reported, None where nothing is; *in_words* is a time as text."""
        if self.condition.since is None:
            return None
        since = f"since {in_words(self.condition.since)}"
        before = " and ".join(map(str, self.had))
        if not self.listed:
            cause, remedy = f"No DNS server is listed any more {since}; {before} answered before", _LIST_ONE
            return Problem(Message.NAME_SERVERS_SILENT, cause, remedy)
        silent = [each for each in self.listed if each in self.had] or list(self.listed)
        kind, them = ("DNS server", "it") if len(silent) == 1 else ("DNS servers", "them")
        cause = f"No answer from the {kind} {' and '.join(map(str, silent))} {since}"
        remedy = f"Check the {kind} and the way to {them}: `dig @{silent[0]} . NS`"
        if not set(silent) & set(self.had):
            cause += f"; {before} answered before and {'is' if len(self.had) == 1 else 'are'} not listed any more"
            remedy += "; or correct the addresses in the node file, the profile or the DHCP server"
        return Problem(Message.NAME_SERVERS_SILENT, cause, remedy)


_LIST_ONE = "List a DNS server that answers in the node file or the profile, or let the DHCP server offer one"
