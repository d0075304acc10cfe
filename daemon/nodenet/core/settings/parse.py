"""How are the settings files read and merged, and what is refused?

Pure: text in, values out. What is not understood is refused: a mistyped key that is silently ignored would be noticed
only when its effect is needed. Syntax: TOML 1.0 (https://toml.io).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from types import MappingProxyType
from typing import Any, TypeVar

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.model import (
    DEFAULT,
    STAGES,
    TABLES,
    ClusterDnsTrust,
    Datapath,
    Enabled,
    HostedMode,
    NotAllowed,
    OnFailure,
    ProbeTarget,
    ResolverMode,
    RoleSetting,
    Settings,
    SettingsResult,
    Written,
    values,
)

# How is the TOML of a settings file read, so that every error names the file and the line?

MOST_BYTES = 64 << 10
"""The largest settings file that is read; the one with every key is 4 KiB."""
MOST_DOTS = 400
"""The most dots of one line: a list of a hundred IPv4 addresses has three hundred."""
MOST_SHOWN = 80
"""Characters of a wrong value that are shown."""
_LONG_NUMBER = re.compile(rb"(?<![0-9A-Za-z_])[0-9][0-9A-Fa-f_xob]{100}")


def flat(path: str, content: bytes, tables: set[str]) -> Iterator[tuple[str, object]]:
    """Yield the dotted keys of a TOML document and their values. Raises SettingsInvalid."""
    for key, value in _toml(path, content).items():
        if key not in tables:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            raise SettingsInvalid(f"{path}: {key} is a table", remedy=f"Write [{key}] on a line, its keys below it")


def _toml(path: str, content: bytes) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most nodes have no settings file: they do not pay for the parser

    _refuse_costly(path, content)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsInvalid(f"{path}: line {line} is not UTF-8", remedy=f"Save {path} as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalid(f"{path}: not TOML: {error}", remedy=f"Edit {path}") from None
    except RecursionError:
        raise SettingsInvalid(f"{path}: not TOML: nested too deep", remedy=f"Edit {path}") from None


def _refuse_costly(path: str, content: bytes) -> None:
    """Raise SettingsInvalid for what the parser needs seconds for, or cannot take: no setting looks like that.

    Its time grows with the square of a dotted key's parts, and Python reads no number of more than 4300 digits.
    """
    if len(content) > MOST_BYTES:
        raise SettingsInvalid(f"{path} is larger than {MOST_BYTES >> 10} KiB", remedy=f"Edit {path}")
    for number, line in enumerate((line.partition(b"#")[0] for line in content.splitlines()), 1):
        key = line.partition(b"=")[0].decode(errors="replace").strip()
        named = f"line {number}, {shown(key)}" if b"=" in line else f"line {number}"
        if line.count(b".") > MOST_DOTS:
            raise SettingsInvalid(f"{path}: {named}: more than {MOST_DOTS} dots", remedy=f"Edit {path}")
        if _LONG_NUMBER.search(line):
            raise SettingsInvalid(f"{path}: {named}: a number with more than 100 digits", remedy=f"Edit {path}")


def shown(value: object) -> str:
    """Return *value* for an error message, MOST_SHOWN characters at most."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


# Which values does each key of a settings file accept, and which error reports another value?

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
_TARGET = re.compile(r"(tcp|https)://(?:\[([^\]]+)\]|([^:\[\]/]+))(?::(\d{1,5}))?(/[!-\"$-~]*)?")
_HTTPS_PORT = 443
_RECORD, _UPSTREAM = "registry.example.com 192.0.2.40", "corp.example.com 192.0.2.53"
_LOCAL_URL = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})/[A-Za-z0-9._~/-]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._+@/-]+")
_T = TypeVar("_T")


class Refused(Exception):
    """The value is not what the key takes; the text says what was expected, in words for an administrator."""


def meant(word: str, choices: tuple[str, ...]) -> str:
    """Return the choice that *word* is nearly, as the end of a sentence; empty when it is near to none."""
    import difflib  # noqa: PLC0415 - needed for a mistake only

    near = difflib.get_close_matches(word, choices, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Refused("expected a string in quotes")
    if not value.isprintable():
        raise Refused("expected a string without control characters")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Refused("expected true or false, without quotes")
    return value


def _whole(least: int, most: int, what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused(f"expected {what} from {least} to {most}")
    return value


def _advert_interval(value: object) -> float:
    """Return the seconds between two VRRP advertisements.

    VRRPv3 sends every 0.01 s at most (RFC 5798, 5.2.7); VRRPv2 counts whole seconds (RFC 3768, 5.3.7).
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 10:
        raise Refused("expected a number of seconds from 0.1 to 10")
    if value > 1 and value != int(value):
        raise Refused("expected whole seconds, or less than one second: VRRPv2 has no fractions")
    return float(value)


def _one_of(choices: tuple[str, ...], value: object) -> str:
    if _text(value) in choices:
        return str(value)
    raise Refused(f"expected one of {', '.join(choices)}{meant(str(value).lower(), choices)}")


def _network_type(value: object) -> str:
    name = _text(value)
    if not name:
        return name
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise Refused("expected the name of a network plugin, such as 'OVNKubernetes'")
    # Any plugin may be named, but a slip in this one would silently leave the node without br-ex.
    import difflib  # noqa: PLC0415 - most nodes name none

    if name != "OVNKubernetes" and difflib.SequenceMatcher(None, name.lower(), "ovnkubernetes").ratio() > 0.8:
        raise Refused("expected the name of a network plugin (did you mean 'OVNKubernetes'?)")
    return name


def _families(value: object) -> object:
    if value == "auto":
        return value
    families = _list(value, lambda item: _one_of(("ipv4", "ipv6"), item), '"auto" or a list such as ["ipv4", "ipv6"]')
    if not families:
        raise Refused('expected at least one family, or "auto"')
    return families


def _list(value: object, read_item: Callable[[object], _T], expected: str) -> tuple[_T, ...]:
    if not isinstance(value, list):
        raise Refused(f"expected {expected}")
    items = tuple(read_item(item) for item in value)
    if len(set(items)) < len(items):
        raise Refused("expected every item once")
    return items


def _address(value: object) -> IPv4Address | IPv6Address:
    try:
        address = ip_address(_text(value))
    except ValueError:
        raise Refused(f"{shown(value)} is not an IP address (no prefix length, no host name)") from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise Refused(f"{address} has a scope; expected the address alone, '{str(address).partition('%')[0]}'")
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise Refused(f"{address} is an IPv4-mapped address; expected '{address.ipv4_mapped}'")
    if address in _NOT_UNICAST or address in _THIS_NETWORK:
        raise Refused(f"{address} is not a unicast address")
    if address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local:
        raise Refused(f"{address} cannot be reached from other nodes (loopback, link-local, multicast or unspecified)")
    return address


def _vips(value: object) -> tuple[IPv4Address | IPv6Address, ...]:
    vips = _list(value, _address, 'a list of addresses, such as ["192.0.2.10"]')
    if len({vip.version for vip in vips}) < len(vips):
        raise Refused("expected one address of each family at most")
    return vips


def _cluster_domain(value: object) -> str:
    domain = _text(value).removesuffix(".").lower()
    if domain and not (len(domain) <= 253 and all(map(_LABEL.fullmatch, domain.split(".")))):
        raise Refused("expected a DNS domain, such as 'cluster.example.com'")
    return domain


def _name_and_address(value: object) -> str:
    name, *rest = _text(value).split() or [""]
    if len(rest) != 1 or not name:
        raise Refused(f"{shown(value)} is not a DNS name and an address with a space between")
    domain = _cluster_domain(name)
    if "." not in domain:
        raise Refused(f"{shown(value)} names no full DNS name, such as 'registry.example.com'")
    return f"{domain} {_address(rest[0])}"


def _path(value: object) -> str:
    path = _text(value)
    if not path.startswith("/") or {"..", "."} & set(path.split("/")):
        raise Refused("expected an absolute path without '.' and '..'")
    return "/" + "/".join(filter(None, path.split("/")))


def _ingress_health(value: object) -> str:
    url = _text(value)
    found = _LOCAL_URL.fullmatch(url)
    if not found or not 1 <= int(found[1]) <= 65535:
        raise Refused("expected 'http://127.0.0.1:PORT/PATH'")
    return url


def _ca_file(value: object) -> str:
    """Return a path that needs no quoting in haproxy's configuration."""
    path = _path(value) if value else _text(value)
    if path and not _PLAIN_PATH.fullmatch(path):
        raise Refused("expected a path of letters, digits and '._+@/-'")
    return path


def _node_name(value: object) -> str:
    """Return the name of a Node object (RFC 1123, subdomain)."""
    name = _text(value)
    if name and not (len(name) <= 253 and all(map(_LABEL.fullmatch, name.split(".")))):
        raise Refused("expected the name of a Node, such as 'worker-0.example.com'")
    return name


def _namespace(value: object) -> str:
    """Return the name of a namespace (RFC 1123, label)."""
    name = _text(value)
    if not _LABEL.fullmatch(name):
        raise Refused("expected the name of a namespace, such as 'nodenet-ipam'")
    return name


def _lease_namespace(value: object) -> str:
    """Return a namespace that may have no Leases of other programs: every node may change those in it."""
    name = _namespace(value)
    if name.startswith("kube-"):
        raise Refused("expected a namespace without other Leases, such as 'nodenet-ipam': nodes may change all in it")
    return name


def _probe_target(value: object) -> ProbeTarget:
    text = _text(value)
    if "://" not in text:
        return ProbeTarget(_address(text))
    parts = _TARGET.fullmatch(text)
    by_tcp = text.startswith("tcp:")
    if not parts or (by_tcp and (parts[5] or not parts[4])) or not 1 <= int(parts[4] or _HTTPS_PORT) <= 65535:
        raise Refused(
            f"{shown(text)} is neither an address nor tcp://ADDRESS:PORT nor https://ADDRESS:PORT/PATH "
            "(IPv6: tcp://[ADDRESS]:PORT)"
        )
    path = "" if by_tcp else parts[5] or "/"
    return ProbeTarget(_address(parts[2] or parts[3]), int(parts[4] or _HTTPS_PORT), path)


def _subnet(value: object) -> IPv4Network | IPv6Network:
    """Return a subnet, written with its prefix length and no bits of a host."""
    text = _text(value)
    if "/" in text:
        with contextlib.suppress(ValueError):
            return ip_network(text)
    raise Refused(f"{shown(value)} is no subnet: expected one such as fd70::/112")


def _route_table(value: object) -> str:
    """Return a table as iproute2 prints it: by name for the kernel's own, else by number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 32:
        return {253: "default", 254: "main", 255: "local"}.get(value, str(value))
    if value in ("main", "default"):
        return str(value)
    raise Refused(f"{shown(value)} is no routing table: expected 'main', 'default' or a number")


def _link_glob(value: object) -> str:
    glob = _text(value)
    if not glob or len(glob) > 64 or any(character.isspace() or character == "/" for character in glob):
        raise Refused(f"{shown(value)} can match no link: expected a glob such as 'docker*'")
    return glob


def _provider(stage: str, value: object) -> str:
    provider = _text(value)
    if provider.startswith(UNIT):
        return UNIT + _service(provider.removeprefix(UNIT))
    if stage == "nodeip" and provider == "skip":
        raise Refused(
            "this stage cannot be skipped: without a node IP kubelet would guess one; expected 'builtin' or 'unit:NAME'"
        )
    if provider in ("builtin", "skip"):
        return provider
    raise Refused(f"expected 'builtin', 'unit:NAME' or 'skip'{meant(provider.lower(), ('builtin', 'skip'))}")


def _service(name: str) -> str:
    """Return the name of a service that may do a stage (systemd.unit(5), "Unit names")."""
    if not _SERVICE.fullmatch(name) or len(name) > LONGEST_UNIT_NAME:
        raise Refused(f"{name!r} is no service; expected a name such as 'unit:ovs-configuration.service'")
    if name.startswith("nodenet"):
        raise Refused(f"{name} waits for the stages; expected a unit that does the work")
    return name


KEYS: dict[str, Callable[[object], object]] = {
    "platform": lambda value: _one_of(PLATFORMS, value),
    "network_type": _network_type,
    "families": _families,
    "api_vips": _vips,
    "ingress_vips": _vips,
    "user_managed_lb": _flag,
    "cluster_domain": _cluster_domain,
    "resolver": lambda value: ResolverMode(_one_of(tuple(ResolverMode), value)),
    "node_file_dir": _path,
    "on_failure": lambda value: OnFailure(_one_of(tuple(OnFailure), value)),
    "node_ip_wait": partial(_whole, 0, 86400, "a whole number of seconds"),
    "apply_timeout": partial(_whole, 10, 3600, "a whole number of seconds"),
    "probe_targets": lambda value: _list(value, _probe_target, 'a list such as ["192.0.2.1"]'),
    "probe_timeout": partial(_whole, 0, 30, "a whole number of seconds"),
    "good_after": partial(_whole, 1, 86400, "a whole number of seconds"),
    "quarantine_after": partial(_whole, 0, 100, "a number of boots"),
    "deny_links": lambda value: _list(value, _link_glob, 'a list of globs, such as ["docker*"]'),
    "ovn_masquerade_subnets": lambda value: _list(value, _subnet, 'a list of subnets, such as ["fd70::/112"]'),
    "route_tables": lambda value: _list(value, _route_table, 'a list of tables, such as ["main", 100]'),
    "hint": _text,
    "hint_required": _flag,
    "prune": _flag,
    "changes_degrade": _flag,
    "dhcpv6_hostname": _flag,
    "metrics_dir": lambda value: _path(value) if value else _text(value),
    "bridge.datapath": lambda value: Datapath(_one_of(tuple(Datapath), value)),
    "hosted.enabled": lambda value: Enabled(_one_of(tuple(Enabled), value)),
    "hosted.mode": lambda value: HostedMode(_one_of(tuple(HostedMode), value)),
    "hosted.role": lambda value: RoleSetting(_one_of(tuple(RoleSetting), value)),
    "hosted.drain_seconds": partial(_whole, 1, 3600, "a whole number of seconds"),
    "hosted.advert_interval": _advert_interval,
    "hosted.api_port": partial(_whole, 1, 65535, "a port"),
    "hosted.lb_port": partial(_whole, 1, 65535, "a port"),
    "hosted.worker_balancer": _flag,
    "hosted.ca_file": _ca_file,
    "hosted.ingress_health": _ingress_health,
    "hosted.records": lambda value: _list(value, _name_and_address, f'a list such as ["{_RECORD}"]'),
    "hosted.upstreams": lambda value: _list(value, _name_and_address, f'a list such as ["{_UPSTREAM}"]'),
    "hosted.cluster_dns": lambda value: ClusterDnsTrust(_one_of(tuple(ClusterDnsTrust), value)),
    "kubernetes.kubeconfig": lambda value: _path(value) if value else _text(value),
    "kubernetes.node_name": _node_name,
    "ipam.kubeconfig": lambda value: _path(value) if value else _text(value),
    "ipam.cni_bin_dirs": lambda value: _list(value, _path, 'a list of directories, such as ["/opt/cni/bin"]'),
    "ipam.lease_namespace": _lease_namespace,
    "ipam.claim_not_allowed": lambda value: NotAllowed(_one_of(tuple(NotAllowed), value)),
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
    if why := settings.hosted.contradiction:
        file = max((origins["hosted.api_port"], origins["hosted.lb_port"]), key=lambda origin: origin != DEFAULT)
        raise SettingsInvalid(f"{file}: {why}", remedy=f"Edit {file}")
    return SettingsResult(settings, MappingProxyType(origins))


def _with(settings: Settings, key: str, value: Any) -> Settings:  # noqa: ANN401 - the type depends on the key
    table, _, name = key.rpartition(".")
    if table == "stages":
        return replace(settings, stages=MappingProxyType({**settings.stages, name: value}))
    if table in TABLES:
        return replace(settings, **{table: replace(getattr(settings, table), **{name: value})})
    return replace(settings, **{key.replace(".", "_"): value})


def read(path: str, content: bytes, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the checked values of one settings file under their dotted keys. Raises SettingsInvalid."""
    checked = {}
    for key, value in flat(path, content, {key.partition(".")[0] for key in keys if "." in key}):
        if key not in KEYS:
            near = meant(key[:MOST_SHOWN], keys)
            remedy = f"Edit {path}" if near else f"Remove it; the keys are: {', '.join(keys)}"
            raise SettingsInvalid(f"{path}: unknown key {shown(key)}{near}", remedy=remedy)
        try:
            checked[key] = KEYS[key](value)
        except Refused as refused:
            raise SettingsInvalid(f"{path}: {key} = {shown(value)}: {refused}", remedy=f"Edit {path}") from None
    return checked
