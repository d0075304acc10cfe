"""What would the verification of a migration find now, on this node? It moves nothing."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from nodenet.cli.outputs import note, printable
from nodenet.core.errors import UsageInvalid
from nodenet.core.hosted_services import cluster, migration_progress
from nodenet.core.hosted_services.api_int import refusal
from nodenet.core.hosted_services.cluster import Cluster, known
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.health import Result, Target, readyz
from nodenet.core.hosted_services.migration import is_own
from nodenet.core.hosted_services.migration_progress import BAD_ANSWERS, GOOD_ANSWERS, Tries
from nodenet.core.hosted_services.model import ClusterNode, Here, Options, Origin, options_of
from nodenet.core.ip import IPAddress
from nodenet.core.settings.parse import parse
from nodenet.edge.files import settings as settings_files
from nodenet.edge.hosted_services.http_check import HttpChecks
from nodenet.edge.hosted_services.state_files import CacheFiles

ANSWER_SECONDS = 3.0
PAUSE_SECONDS = 0.2
PASSED = "passed    on this node; a migration asks every control-plane node"
FAILED = "failed    a migration would change nothing"
BEGINS = "A migration begins when HostedNetServices is edited: `kubectl edit hostednetservices cluster`"

Ask = Callable[[Target, float], Awaitable[Result]]


def run(texts: Collection[str], document: dict[str, Any] | None, *, dry_run: bool) -> int:
    """Check the addresses in *texts*, else those that the object asks for; print what is found, return the exit code.

    Raises NodenetError.
    """
    if not dry_run:
        raise UsageInvalid("`nodenetctl hosted migrate` checks only, with --dry-run", remedy=BEGINS)
    addresses = _addresses(texts or _asked(document))
    options = options_of(parse(settings_files.read()).settings)
    passed, lines = asyncio.run(verify(addresses, options, _nodes(options), document or {}, HttpChecks().check))
    for line in lines:
        (print if passed else note)(printable(line))
    return 0 if passed else 1


async def verify(
    addresses: tuple[IPAddress, ...],
    options: Options,
    nodes: tuple[ClusterNode, ...],
    document: Mapping[str, Any],
    ask: Ask,
) -> tuple[bool, list[str]]:
    """Return whether *addresses* pass on this node, and the lines to print.

    *document*: what nodenet-hosted has reported; *ask* makes one request.
    """
    if why := why_disabled(options):
        return False, [f"No hosted service runs in this cluster: {why}"]
    own = not options.user_managed_lb and is_own(addresses, options.api_vips)
    if not own and (wrong := refusal(addresses, options.api_vips, nodes)):
        return False, [wrong]
    shown, kind = " and ".join(map(str, addresses)), "the API VIP" if own else "an external load balancer"
    lines = [f"checks    {shown}, {kind}, for {options.api_int_name}"]
    split = list(_split(addresses, document)) if own else []
    tries, slowest = await _checked(addresses, options, ask)
    lines += [*split, *(_line(address, tries[address], slowest[address], options) for address in addresses)]
    passed = not split and all(found.good >= GOOD_ANSWERS for found in tries.values())
    return passed, [*lines, PASSED if passed else FAILED]


def _asked(document: dict[str, Any] | None) -> list[str]:
    """Return the addresses that the object asks for. Raises UsageInvalid."""
    found = (document or {}).get("migration") or {}
    if asked := found.get("asked"):
        return [str(one) for one in asked]
    cause = "HostedNetServices names no address to check, or nodenet-operator has not written status.migration yet"
    raise UsageInvalid(cause, remedy="Name an address with --to")


def _addresses(texts: Collection[str]) -> tuple[IPAddress, ...]:
    try:
        return tuple(dict.fromkeys(ip_address(text) for text in texts))
    except ValueError as error:
        raise UsageInvalid(f"{error}", remedy="Give IP addresses to --to") from None


def _nodes(options: Options) -> tuple[ClusterNode, ...]:
    """Return the nodes that this node has cached; none where it has no cache that can be used."""
    documents = {name: _cached(name, options.cluster_domain) for name in ("cr", "nodes")}
    kept = {name: {Origin.CACHE: found} for name, found in documents.items() if found is not None}
    cluster = Cluster(kept.get("cr", {}), kept.get("nodes", {}))
    return known(cluster, options, Here(socket.gethostname())).inputs.nodes


def _cached(name: str, domain: str) -> object | None:
    content = CacheFiles().read(name)
    try:
        return cluster.parse_cached(content, domain).document if content else None
    except cluster.CacheInvalid:
        return None


def _split(addresses: tuple[IPAddress, ...], document: Mapping[str, Any]) -> Iterator[str]:
    for vip in document.get("vips", ()):
        if vip["address"] in map(str, addresses) and len(vip["holders"]) != 1:
            yield f"{vip['address']}  {len(vip['holders'])} holders on the wire: see `nodenetctl explain vip`"


async def _checked(
    addresses: tuple[IPAddress, ...], options: Options, ask: Ask
) -> tuple[dict[IPAddress, Tries], dict[IPAddress, float]]:
    """Return the last answers of each address, and the seconds of the slowest one."""
    tries = dict.fromkeys(addresses, Tries())
    slowest = dict.fromkeys(addresses, 0.0)

    async def check(address: IPAddress) -> Result:
        began = time.monotonic()
        result = await ask(readyz(options, str(address)), ANSWER_SECONDS)
        slowest[address] = max(slowest[address], time.monotonic() - began)
        return result

    for _ in range(max(GOOD_ANSWERS, BAD_ANSWERS)):
        for address, result in zip(addresses, await asyncio.gather(*map(check, addresses)), strict=True):
            tries[address] = migration_progress.after(tries[address], result)
        await asyncio.sleep(PAUSE_SECONDS)
    return tries, slowest


def _line(address: IPAddress, found: Tries, slowest: float, options: Options) -> str:
    if found.good >= GOOD_ANSWERS:
        return (
            f"{address}  {found.good} of {GOOD_ANSWERS} answers of /readyz are good, with a certificate for "
            f"{options.api_int_name}; the slowest took {slowest * 1000:.0f} ms"
        )
    if found.good:
        return f"{address}  only the last {found.good} of {GOOD_ANSWERS} answers of /readyz were good"
    return f"{address}  {found.problem}"
