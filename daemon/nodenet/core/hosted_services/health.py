"""Is a service of this node healthy, if its checks were answered, answered late, or not answered?

A slow answer is not a dead service, and the holder of a VIP is given more patience than a candidate: when all API
servers fail together, each candidate's weight has fallen before the holder's, and when they come back the holder's
rises first. So the VIP stays where it is. A certificate that has expired is named with its date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from nodenet.core.hosted_services.model import Options
from nodenet.core.value import frozen

# Until when is a certificate valid? (RFC 5280, 4.1; X.690: DER)
#
# Python's TLS library names the date of a certificate only if it trusts it, and the one that has expired is refused.

_SEQUENCE, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_MOMENT = re.compile(r"[0-9]{14}Z")
_VALIDITY = 3
"""Where it is after the serial number, with the algorithm and the issuer between."""


def valid_until(certificate: bytes) -> str:
    """Return the last second of *certificate*, in DER, as ``YYYYMMDDHHMMSSZ``. Raises ValueError for other octets."""
    parts = iter(_parts(_inside(_inside(certificate))))
    first, _ = next(parts, (0, b""))
    rest = [value for _, value in parts]  # without the version, or without the serial number where there is none
    place = _VALIDITY if first == _VERSION else _VALIDITY - 1
    if len(rest) <= place:
        raise ValueError("it is no certificate")
    times = list(_parts(rest[place]))
    if len(times) != 2:
        raise ValueError("its validity has not two times")
    return _time(*times[1])


def _time(tag: int, value: bytes) -> str:
    text = value.decode("ascii")
    if tag == _UTC_TIME:  # two digits of the year (RFC 5280, 4.1.2.5.1)
        text = ("20" if text[:2] < "50" else "19") + text
    if tag not in (_UTC_TIME, _GENERALIZED_TIME) or not _MOMENT.fullmatch(text):
        raise ValueError("its validity is no time")
    return text


def _inside(content: bytes) -> bytes:
    """Return the content of the sequence that *content* begins with."""
    tag, value = next(_parts(content), (0, b""))
    if tag != _SEQUENCE:
        raise ValueError("it is no certificate")
    return value


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and value of each element. Raises ValueError where one is cut off."""
    at = 0
    while at < len(content):
        head = content[at : at + 2]
        at += 2
        if len(head) < 2:
            raise ValueError("it is cut off")
        tag, length = head
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(content[at : at + count])
            at += count
        value = content[at : at + length]
        if len(value) < length:
            raise ValueError("it is cut off")
        yield tag, value
        at += length


# How healthy is a service after its last checks?


class Answer(StrEnum):
    """The answer to one check."""

    GOOD = "good"
    SLOW = "slow"
    """The connection was taken, and no answer came in time."""
    DEAD = "dead"
    """Refused, unreachable, another status, or a certificate that the cluster's CA did not sign."""


@frozen
class Target:
    """What is asked for; *ca_file* and *server_name*: by TLS; *unix_socket*: instead of a port of *host*.

    *mark*: that of the connection's packets on this node (SO_MARK, socket(7)), 0 for none.
    """

    host: str
    port: int
    path: str
    ca_file: str = ""
    server_name: str = ""
    unix_socket: str = ""
    mark: int = 0


def readyz(options: Options, host: str, *, mark: int = 0) -> Target:
    """Return the check of the API at *host*, whose certificate must be for ``api-int``."""
    return Target(host, options.api_port, "/readyz", options.ca_file, options.api_int_name, mark=mark)


def ingress(options: Options) -> Target:
    """Return the check of this node's ingress controller."""
    place, _, path = options.ingress_health.removeprefix("http://").partition("/")
    host, _, port = place.rpartition(":")
    return Target(host, int(port), f"/{path}")


class Distrust(StrEnum):
    """What keeps a server from being verified; the value is the remedy."""

    CA = "Correct the CA of the kubeconfig, or `[hosted] ca_file`"
    CERTIFICATE = "Renew the certificate of the server"


@frozen
class Result:
    """The result of a check: the answer, the HTTP status if there was one, and what is wrong.

    *distrust*: where the problem is that the server cannot be verified.
    """

    answer: Answer
    status: int | None = None
    problem: str = ""
    distrust: Distrust | None = None


@frozen
class Patience:
    """How many good answers in a row make a service healthy, and how many points of bad ones make it unhealthy.

    A dead answer has four points, a slow one has one.
    """

    rise: int
    fall: int


BALANCER = Patience(rise=3, fall=8)
"""haproxy of this node: three good checks, two bad ones."""
CANDIDATE = Patience(rise=5, fall=8)
"""The API server of a node that does not hold the VIP."""
HOLDER = Patience(rise=1, fall=20)
"""The API server of the node that holds the VIP."""
_POINTS = {Answer.GOOD: 0, Answer.SLOW: 1, Answer.DEAD: 4}


@frozen
class Verdict:
    """The present judgement: *good* answers in a row, *points* of the bad ones since the last good one."""

    healthy: bool = False
    good: int = 0
    points: int = 0


def after(verdict: Verdict, answer: Answer, patience: Patience) -> Verdict:
    """Return the judgement after one more answer."""
    if answer is Answer.GOOD:
        good = verdict.good + 1
        return Verdict(verdict.healthy or good >= patience.rise, min(good, patience.rise), 0)
    points = verdict.points + _POINTS[answer]
    return Verdict(verdict.healthy and points < patience.fall, 0, min(points, patience.fall))
