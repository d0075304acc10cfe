"""What does a HostedNetServices object ask for? (``packaging/cluster``, and the file of the same shape on a node)

Everything in it comes from outside. A value of the wrong type, a name in capitals or a contradiction is an error that
names the field; nothing of such an object is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.hosted_services import migration
from nodenet.core.hosted_services.model import Spec
from nodenet.core.hosted_services.nodes import is_of_a_host
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, json_values, load

GROUP = "clusterhostednetservices.operator.io"
VERSION = "v1alpha1"
KIND = "HostedNetServices"
NAME = "cluster"
SWITCHES = {"Enabled": True, "Disabled": False}
FILE_BYTES = 256 * 1024
"""The longest file that is read: some five thousand nodes."""
QUICK_BYTES = 8 * 1024
"""What is longer is read in a thread: a parser of YAML needs a second for the longest file."""


class ResourceInvalid(ValueError):
    """The object cannot be used; the text names the field, the value and what is expected there."""


def document_of(name: str, content: bytes) -> object:
    """Return the JSON values of the file *name*, None for an empty one. Raises ValueError, whatever it contains."""
    try:
        document = load(name, content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 at byte {error.start}") from None
    except NodeFileInvalid as error:
        raise ValueError(f"{error.cause}: {error.remedy}") from None
    if (twice := doubled(document)) is not None:
        raise ValueError(f"{name} has the key {_shown(twice.text)} twice: remove one of them")
    return json_values(document)


def doubled(node: Node | None) -> Scalar | None:
    """Return a key that one mapping of the document has twice, None where there is none."""
    if not isinstance(node, Block):
        return None
    own = (key for key, _ in node.doubled)
    below = map(doubled, (*(value for _, value in node.entries), *node.items))
    return next((key for key in (*own, *below) if key is not None), None)


def spec_of(document: object) -> Spec:
    """Return what one object asks for, as JSON values. Raises ResourceInvalid."""
    root = _mapping(document, "the document")
    _identity(root)
    spec = _part(root, "spec", "spec")
    dns = _part(spec, "dns", "spec.dns")
    _unknown(spec, {"dns", "apiintIpAddress", "apiintIpAddresses", "ingressHa"}, "spec")
    _unknown(dns, {"nodesResolution", "appsResolution", "apiInt", "apiintIpAddress"}, "spec.dns")
    return Spec(
        nodes_resolution=_switch(dns, "nodesResolution", "spec.dns"),
        apps_resolution=_switch(dns, "appsResolution", "spec.dns"),
        api_int=_switch(dns, "apiInt", "spec.dns"),
        ingress_ha=_switch(spec, "ingressHa", "spec"),
        api_int_addresses=_addresses(spec, dns),
        migration=migration_of(root),
    )


def migration_of(document: object) -> migration.Migration | None:
    """Return how far a migration of the API is, None where no operator leads. Raises ResourceInvalid."""
    try:
        return migration.parse(document)
    except ValueError as error:
        raise ResourceInvalid(str(error)) from None


def _identity(root: Mapping[str, object]) -> None:
    version, kind = root.get("apiVersion"), root.get("kind")
    # The first proposal wrote the group with capitals, which no API server accepts; files have it all the same.
    if not isinstance(version, str) or version.lower() != f"{GROUP}/{VERSION}":
        raise ResourceInvalid(f"apiVersion is {_shown(version)}; expected {GROUP}/{VERSION}")
    if kind != KIND:
        raise ResourceInvalid(f"kind is {_shown(kind)}; expected {KIND}")
    name = _part(root, "metadata", "metadata").get("name")
    if name != NAME:
        raise ResourceInvalid(f"metadata.name is {_shown(name)}; there is one object, and its name is {NAME}")


def _addresses(spec: Mapping[str, object], dns: Mapping[str, object]) -> tuple[IPAddress, ...]:
    """Return the addresses of api-int: one key in two places, and a list for two families."""
    single = {
        place: _address(found, place)
        for place, found in (
            ("spec.apiintIpAddress", spec.get("apiintIpAddress")),
            ("spec.dns.apiintIpAddress", dns.get("apiintIpAddress")),
        )
        if found is not None
    }
    if len(set(single.values())) > 1:
        raise ResourceInvalid(f"{' and '.join(single)} differ: keep one of them")
    listed = spec.get("apiintIpAddresses")
    if listed is None:
        return tuple(dict.fromkeys(single.values()))
    if not isinstance(listed, list) or not 1 <= len(listed) <= 2:
        raise ResourceInvalid("spec.apiintIpAddresses is not a list of one or two addresses")
    found = tuple(_address(item, f"spec.apiintIpAddresses[{i}]") for i, item in enumerate(listed))
    if len({family_of(address) for address in found}) != len(found):
        raise ResourceInvalid("spec.apiintIpAddresses has two addresses of one family: keep one a family")
    if single and not set(single.values()) <= set(found):
        raise ResourceInvalid(f"{next(iter(single))} is not in spec.apiintIpAddresses: keep one of the two")
    return found


def _address(value: object, place: str) -> IPAddress:
    if not isinstance(value, str):
        raise ResourceInvalid(f"{place} is {_shown(value)}; expected an IP address")
    try:
        found = ip_address(value)
    except ValueError:
        raise ResourceInvalid(f"{place} is {_shown(value)}; expected an IP address") from None
    if not is_of_a_host(found):
        raise ResourceInvalid(f"{place} is {_shown(value)}; expected an address that other hosts can reach")
    return found


def _switch(parent: Mapping[str, object], key: str, place: str) -> bool:
    value = parent.get(key, "Enabled")
    if not isinstance(value, str) or value not in SWITCHES:
        raise ResourceInvalid(f"{place}.{key} is {_shown(value)}; expected Enabled or Disabled")
    return SWITCHES[value]


def _unknown(parent: Mapping[str, object], known: set[str], place: str) -> None:
    if strange := sorted(set(parent) - known):
        raise ResourceInvalid(
            f"{place} has the unknown field {_shown(strange[0])}; expected {', '.join(sorted(known))}"
        )


def _part(parent: Mapping[str, object], key: str, place: str) -> Mapping[str, object]:
    found = parent.get(key)
    return _mapping({} if found is None else found, place)


def _mapping(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ResourceInvalid(f"{place} is {_shown(value)}; expected an object")
    return value


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
