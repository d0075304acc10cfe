"""Which node IP may be asked for, and what does a hint say?

A hint is an address, a prefix or the name of a link. An address of this node means that address; another one means its
subnet. The name of a link means the bridge over it, too. Hints come from the settings and from the environment file
that administrators know (``/etc/default/nodeip-configuration``, read as systemd.exec(5) describes EnvironmentFile=).
"""

from __future__ import annotations

import difflib
import re
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal

from nodenet.core.errors import SettingsInvalid
from nodenet.core.ip import Family, IPAddress, IPNetwork, family_of
from nodenet.core.kernel.snapshot import MAIN_TABLE
from nodenet.core.node_ip.published_files import logical_lines, unquoted
from nodenet.core.value import frozen

VARIABLES = ("NODEIP_HINT", "KUBELET_NODEIP_HINT")
"""In order of preference: the second is the older name."""
REMEDY = "A hint is an address, a prefix or the name of a link; several are separated by spaces"
_LONGEST_NAME = 127
"""Of an alternative name (ALTIFNAMSIZ, linux/if.h)."""
_NUMBERS = re.compile(r"[0-9.]+")


@frozen
class Hint:
    """One hint as it was written, where it was written, and what it means: an address, a prefix, or a link's name."""

    text: str
    where: str
    meaning: IPAddress | IPNetwork | str

    def __str__(self) -> str:
        """Return it as messages name it."""
        return f"hint {self.text} ({self.where})"


@frozen
class HintReading:
    """The hints that were understood, and a problem for each that was not."""

    hints: tuple[Hint, ...] = ()
    problems: tuple[SettingsInvalid, ...] = ()

    def __or__(self, fallback: HintReading) -> HintReading:
        """Keep these hints if there are any, else those of *fallback*; problems of both are kept."""
        return HintReading(self.hints or fallback.hints, self.problems + fallback.problems)


def parse_value(value: str, where: str) -> HintReading:
    """Return the hints in *value*, written at *where* (a file and line, a setting, an option)."""
    hints: list[Hint] = []
    problems: list[SettingsInvalid] = []
    for word in value.replace(",", " ").split():
        try:
            hints.append(Hint(word, where, _meaning(word)))
        except ValueError as error:
            problems.append(SettingsInvalid(f"{where}: {word!r} is not a valid node IP hint: {error}", remedy=REMEDY))
    return HintReading(tuple(hints), tuple(problems))


def parse_environment(text: str, file: str) -> HintReading:
    """Return the hints of an environment file; the last line of a variable that is set twice wins."""
    values: dict[str, tuple[str, str]] = {}
    problems: list[SettingsInvalid] = []
    for number, line in logical_lines(text):
        where = f"{file}, line {number}"
        name, equals, value = line.partition("=")
        name = name.removeprefix("export ").strip()
        if not equals:
            remedy = f"Write {VARIABLES[0]}=192.0.2.5, and a # before what is a remark"
            problems.append(SettingsInvalid(f"{where}: there is no = in {line!r}", remedy=remedy))
            continue
        if name not in VARIABLES:
            # Other variables belong to other programs; one that is nearly ours is a mistake.
            if near := difflib.get_close_matches(name, VARIABLES, n=1, cutoff=0.85):
                problems.append(SettingsInvalid(f"{where}: Unknown variable {name}", remedy=f"Did you mean {near[0]}?"))
            continue
        try:
            values[name] = (unquoted(value.strip()), where)
        except ValueError as error:
            problems.append(SettingsInvalid(f"{where}: {name}: {error}", remedy="Close the quotes"))
    reading = HintReading(problems=tuple(problems))
    for name in VARIABLES:
        if name in values:
            reading |= parse_value(*values[name])
    return reading


def _meaning(word: str) -> IPAddress | IPNetwork | str:
    """Return the meaning of *word*. Raises ValueError with the reason."""
    if "%" in word:
        raise ValueError("a node IP has no zone (%)")
    if "/" in word:
        return ip_network(word, strict=False)
    if ":" in word or _NUMBERS.fullmatch(word):
        address = ip_address(word)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return mapped or address
    if len(word) > _LONGEST_NAME or not word.isprintable() or word in (".", ".."):
        raise ValueError("no link can have this name")
    return word


OVN_KUBERNETES = "OVNKubernetes"
UNSET = ""
"""The network type is not known: addresses of OVN-Kubernetes are not node IPs there either."""
BARE_METAL = "baremetal"
_IPV4_FIRST = (Family.IPV4, Family.IPV6)
_IPV6_FIRST = (Family.IPV6, Family.IPV4)


@frozen
class Policy:
    """What a selection is asked for; the defaults are those of a node without settings.

    *families* in order of preference, all waited for; ``auto``: those of the VIPs, which are waited for, and those that
    a hint or the node file names. *named*: what the node file names, and in a selection the hints as well. Where
    nothing names a family: those of the last boot, in a first boot those with a default route.
    *stated*: the addresses that the node file names.
    *prefer_ipv6* is for ``auto`` only.
    *deny_links* are globs beside the built-in ones, *masquerade_subnets* OVN-Kubernetes' beside its own.
    *route_tables* by iproute2's names or numbers.
    """

    api_vips: tuple[IPAddress, ...] = ()
    ingress_vips: tuple[IPAddress, ...] = ()
    hints: tuple[Hint, ...] = ()
    hint_required: bool = False
    families: tuple[Family, ...] | Literal["auto"] = "auto"
    named: frozenset[Family] = frozenset()
    stated: frozenset[IPAddress] = frozenset()
    prefer_ipv6: bool = False
    network_type: str = OVN_KUBERNETES
    platform: str = "none"
    user_managed_lb: bool = False
    deny_links: tuple[str, ...] = ()
    masquerade_subnets: tuple[IPNetwork, ...] = ()
    route_tables: tuple[str, ...] = (MAIN_TABLE,)

    @property
    def vips(self) -> tuple[IPAddress, ...]:
        """Every VIP."""
        return self.api_vips + self.ingress_vips

    @property
    def family_order(self) -> tuple[Family, ...]:
        """The families that a node IP may have, preferred first."""
        if self.families != "auto":
            return self.families
        order = _IPV6_FIRST if self.prefer_ipv6 else _IPV4_FIRST
        return tuple(family for family in order if family in self.named) if self.named else order

    @property
    def required(self) -> tuple[Family, ...]:
        """The families that are waited for."""
        if self.families != "auto":
            return self.families
        of_vips = set(map(family_of, self.vips))
        return tuple(family for family in _IPV4_FIRST if family in of_vips)
