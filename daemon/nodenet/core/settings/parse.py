"""What may stand in a settings file, key by key, and what is said when something else does?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from types import MappingProxyType
from typing import Any, TypeVar

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.model import (
    DEFAULT,
    STAGES,
    Datapath,
    OnFailure,
    ProbeTarget,
    ResolverMode,
    Settings,
    SettingsResult,
    Written,
    values,
)
from nodenet.core.settings.toml_text import MOST_SHOWN, flat, shown

PLATFORMS = (
    "none", "baremetal", "openstack", "vsphere", "nutanix", "ovirt", "kubevirt", "external", "aws", "azure", "gcp",
    "ibmcloud", "powervs", "alibabacloud", "equinixmetal", "libvirt",
)  # fmt: skip
_SERVICE = re.compile(r"[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]+)?\.service")
LONGEST_UNIT_NAME = 255
_NOT_UNICAST = ip_network("240.0.0.0/4")
"""RFC 1112, section 4: class E, with the broadcast address."""
_THIS_NETWORK = ip_network("0.0.0.0/8")
"""RFC 1122, section 3.2.1.3: an address of "this" network is a source address only."""
UNIT = "unit:"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_TARGET = re.compile(r"tcp://(?:\[([^\]]+)\]|([^:\[\]]+)):(\d{1,5})")
_T = TypeVar("_T")


class _Refused(Exception):
    """The value is not what the key takes; the text says what was expected, in words for an administrator."""


def read(path: str, content: bytes, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the checked values of one settings file under their dotted keys. Raises SettingsInvalid."""
    checked = {}
    for key, value in flat(path, content, {key.partition(".")[0] for key in keys if "." in key}):
        if key not in _KEYS:
            meant = _meant(key[:MOST_SHOWN], keys)
            remedy = f"Edit {path}" if meant else f"Remove it; the keys are: {', '.join(keys)}"
            raise SettingsInvalid(f"{path}: unknown key {shown(key)}{meant}", remedy=remedy)
        try:
            checked[key] = _KEYS[key](value)
        except _Refused as refused:
            raise SettingsInvalid(f"{path}: {key} = {shown(value)}: {refused}", remedy=f"Edit {path}") from None
    return checked


def _meant(word: str, choices: tuple[str, ...]) -> str:
    """Return the choice that *word* is nearly, as the end of a sentence; empty when it is near to none."""
    import difflib  # noqa: PLC0415 - needed for a mistake only

    near = difflib.get_close_matches(word, choices, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Refused("expected a string in quotes")
    if not value.isprintable():
        raise _Refused("expected a string without control characters")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Refused("expected true or false, without quotes")
    return value


def _apply_timeout(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 10 <= value <= 3600:
        raise _Refused("expected a whole number of seconds from 10 to 3600")
    return value


def _one_of(choices: tuple[str, ...], value: object) -> str:
    if _text(value) in choices:
        return str(value)
    raise _Refused(f"expected one of {', '.join(choices)}{_meant(str(value).lower(), choices)}")


def _network_type(value: object) -> str:
    name = _text(value)
    if not name:
        return name
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise _Refused("expected the name of a network plugin, such as 'OVNKubernetes'")
    # Any plugin may be named, but a slip in this one would silently leave the node without br-ex.
    import difflib  # noqa: PLC0415 - most nodes name none

    if name != "OVNKubernetes" and difflib.SequenceMatcher(None, name.lower(), "ovnkubernetes").ratio() > 0.8:
        raise _Refused("expected the name of a network plugin (did you mean 'OVNKubernetes'?)")
    return name


def _families(value: object) -> object:
    if value == "auto":
        return value
    families = _list(value, lambda item: _one_of(("ipv4", "ipv6"), item), '"auto" or a list such as ["ipv4", "ipv6"]')
    if not families:
        raise _Refused('expected at least one family, or "auto"')
    return families


def _list(value: object, read_item: Callable[[object], _T], expected: str) -> tuple[_T, ...]:
    if not isinstance(value, list):
        raise _Refused(f"expected {expected}")
    items = tuple(read_item(item) for item in value)
    if len(set(items)) < len(items):
        raise _Refused("expected every item once")
    return items


def _address(value: object) -> IPv4Address | IPv6Address:
    try:
        address = ip_address(_text(value))
    except ValueError:
        raise _Refused(f"{shown(value)} is not an IP address (no prefix length, no host name)") from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise _Refused(f"{address} has a scope; expected the address alone, '{str(address).partition('%')[0]}'")
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise _Refused(f"{address} is an IPv4-mapped address; expected '{address.ipv4_mapped}'")
    if address in _NOT_UNICAST or address in _THIS_NETWORK:
        raise _Refused(f"{address} is not a unicast address")
    if address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local:
        raise _Refused(f"{address} cannot be reached from other nodes (loopback, link-local, multicast or unspecified)")
    return address


def _vips(value: object) -> tuple[IPv4Address | IPv6Address, ...]:
    vips = _list(value, _address, 'a list of addresses, such as ["192.0.2.10"]')
    if len({vip.version for vip in vips}) < len(vips):
        raise _Refused("expected one address of each family at most")
    return vips


def _cluster_domain(value: object) -> str:
    domain = _text(value).removesuffix(".").lower()
    if domain and not (len(domain) <= 253 and all(map(_LABEL.fullmatch, domain.split(".")))):
        raise _Refused("expected a DNS domain, such as 'cluster.example.com'")
    return domain


def _node_file_dir(value: object) -> str:
    path = _text(value)
    if not path.startswith("/") or {"..", "."} & set(path.split("/")):
        raise _Refused("expected an absolute path without '.' and '..'")
    return "/" + "/".join(filter(None, path.split("/")))


def _probe_target(value: object) -> ProbeTarget:
    text = _text(value)
    if "://" not in text:
        return ProbeTarget(_address(text))
    parts = _TARGET.fullmatch(text)
    if not parts or not 1 <= int(parts[3]) <= 65535:
        raise _Refused(f"{shown(text)} is neither an address nor tcp://ADDRESS:PORT (IPv6: tcp://[ADDRESS]:PORT)")
    return ProbeTarget(_address(parts[1] or parts[2]), int(parts[3]))


def _route_table(value: object) -> str:
    """Return a table as iproute2 prints it: by name for the kernel's own, else by number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 32:
        return {253: "default", 254: "main", 255: "local"}.get(value, str(value))
    if value in ("main", "default"):
        return str(value)
    raise _Refused(f"{shown(value)} is no routing table: expected 'main', 'default' or a number")


def _link_glob(value: object) -> str:
    glob = _text(value)
    if not glob or len(glob) > 64 or any(character.isspace() or character == "/" for character in glob):
        raise _Refused(f"{shown(value)} can match no link: expected a glob such as 'docker*'")
    return glob


def _provider(stage: str, value: object) -> str:
    provider = _text(value)
    if provider.startswith(UNIT):
        return UNIT + _service(provider.removeprefix(UNIT))
    if stage == "nodeip" and provider == "skip":
        raise _Refused(
            "this stage cannot be skipped: without a node IP kubelet would guess one; expected 'builtin' or 'unit:NAME'"
        )
    if provider in ("builtin", "skip"):
        return provider
    raise _Refused(f"expected 'builtin', 'unit:NAME' or 'skip'{_meant(provider.lower(), ('builtin', 'skip'))}")


def _service(name: str) -> str:
    """Return the name of a service that may do a stage (systemd.unit(5), "Unit names")."""
    if not _SERVICE.fullmatch(name) or len(name) > LONGEST_UNIT_NAME:
        raise _Refused(f"{name!r} is no service; expected a name such as 'unit:ovs-configuration.service'")
    if name.startswith("nodenet"):
        raise _Refused(f"{name} waits for the stages; expected a unit that does the work")
    return name


_KEYS: dict[str, Callable[[object], object]] = {
    "platform": lambda value: _one_of(PLATFORMS, value),
    "network_type": _network_type,
    "families": _families,
    "api_vips": _vips,
    "ingress_vips": _vips,
    "user_managed_lb": _flag,
    "cluster_domain": _cluster_domain,
    "resolver": lambda value: ResolverMode(_one_of(tuple(ResolverMode), value)),
    "node_file_dir": _node_file_dir,
    "on_failure": lambda value: OnFailure(_one_of(tuple(OnFailure), value)),
    "apply_timeout": _apply_timeout,
    "probe_targets": lambda value: _list(value, _probe_target, 'a list such as ["192.0.2.1"]'),
    "deny_links": lambda value: _list(value, _link_glob, 'a list of globs, such as ["docker*"]'),
    "route_tables": lambda value: _list(value, _route_table, 'a list of tables, such as ["main", 100]'),
    "hint": _text,
    "hint_required": _flag,
    "bridge.datapath": lambda value: Datapath(_one_of(tuple(Datapath), value)),
    **{f"stages.{stage}": partial(_provider, stage) for stage in STAGES},
}


def parse(documents: Sequence[tuple[str, bytes]]) -> SettingsResult:
    """Return the settings of *documents*, (path, content) pairs of which a later one wins, key by key.

    Raises SettingsInvalid naming the file, the key (or line) and what was expected.
    """
    settings = Settings()
    origins = dict.fromkeys(values(settings), DEFAULT)
    if not documents:
        return SettingsResult(settings, MappingProxyType(origins))
    for path, content in documents:
        for key, value in read(path, content, tuple(origins)).items():
            settings = _with(settings, key, Written(value, path) if key == "hint" else value)
            origins[key] = path
    return SettingsResult(settings, MappingProxyType(origins))


def _with(settings: Settings, key: str, value: Any) -> Settings:  # noqa: ANN401 - the type depends on the key
    table, _, name = key.rpartition(".")
    if table == "stages":
        return replace(settings, stages=MappingProxyType({**settings.stages, name: value}))
    return replace(settings, **{key.replace(".", "_"): value})
