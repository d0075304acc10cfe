"""Can keyfiles for the deployment image be made from a node file, and what will they lack?

libnmstate generates NetworkManager keyfiles offline. What needs the host itself, or Open vSwitch, cannot be generated;
libnmstate silently drops some of these settings, so they are refused here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodenet.core.day_one.links import addresses, gateways, is_automatic, items, present
from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.node_file.links import bases_of, ports_of
from nodenet.core.node_file.values import interfaces, is_virtual_function, text
from nodenet.core.node_file.yaml_text import Block

EARLY = "Derive the document of the first step with `nodenetctl day-one early`"
_KERNEL_NAME = re.compile(r"eth\d+")
_BY_IDENTIFIER = frozenset({"mac-address", "pci-address"})


def refusals(file: str, document: Block) -> Iterator[Found]:
    """Yield why *document* itself cannot become keyfiles; nothing: it can."""
    for key, _ in document.entries:
        if key.text == "hostname":
            said = "a keyfile cannot set the host name", f"Remove it, or leave it to the second step: {EARLY.lower()}"
            yield Found(Rule.STEP_HOSTNAME, file, *said, key.line, key.column)
        elif key.text in ("ovs-db", "ovn"):
            cause = f"{key.text} needs Open vSwitch, which the image does not have"
            yield Found(Rule.STEP_OVS, file, cause, EARLY, key.line, key.column)
    for path, link in interfaces(document):
        kind = text(link, "type")
        if text(link, "state") == "absent":
            yield _absent(file, path, link)
        elif kind.startswith("ovs-"):
            said = f"{text(link, 'name')} is an {kind}, and the image has no Open vSwitch", EARLY
            yield Found(Rule.STEP_OVS, file, *said, link.line, link.column, path)
        else:
            yield from _link(file, path, link)


def refusals_below(file: str, document: Block) -> Iterator[Found]:
    """Yield why what the first step keeps of *document* cannot become keyfiles; the rest is for the second step."""
    for path, link in interfaces(document):
        if text(link, "state") != "absent" and not text(link, "type").startswith("ovs-"):
            yield from _link(file, path, link)


def warnings(file: str, document: Block) -> Iterator[Found]:
    """Yield what may leave a host without network, though keyfiles can be generated."""
    links = present(document)
    if links and not any(is_automatic(link) for _, link in links) and not any(addresses(document)):
        first_link = links[0][1]
        said = (
            "no interface of the document has an address, DHCP or autoconfiguration: none of them reaches the network",
            "Write `dhcp: true`, or `address`, below `ipv4` or `ipv6` of one of them",
        )
        yield Found(Rule.STEP_NO_ADDRESS, file, *said, first_link.line, first_link.column)
    if not any(is_automatic(link) for _, link in links) and any(
        address.is_of_a_host for address in addresses(document)
    ):
        first = next(address for address in addresses(document) if address.is_of_a_host)
        if not gateways(document):
            said = (
                "the host has static addresses and no default route: it reaches its own subnets only",
                "Add a route with `destination: 0.0.0.0/0` (IPv6: `::/0`) below `routes.config`",
            )
            yield Found(Rule.NO_ROUTE, file, *said, first.node.line, first.node.column)
        if not items(document, "dns-resolver", "config", "server"):
            said = (
                "the host has static addresses and no DNS server: it cannot resolve the name of the API",
                "Add `dns-resolver.config.server`",
            )
            yield Found(Rule.NO_DNS, file, *said, first.node.line, first.node.column)
    for path, link in links:
        name = link.get("name")
        named = _KERNEL_NAME.fullmatch(text(link, "name"))
        if name is not None and named and text(link, "identifier") not in _BY_IDENTIFIER:
            said = (
                "the name follows the kernel's order, which can change between the image and the installed system",
                "Write `identifier: mac-address` and `mac-address`, or the name that udev gives (`enp2s0`)",
            )
            yield at(Rule.KERNEL_NAME, file, name, f"{path}.name", said)


def _link(file: str, path: str, link: Block) -> Iterator[Found]:
    yield from _virtual_functions(file, path, link)
    if not text(link, "type"):
        said = (
            f"{text(link, 'name') or 'an interface'} has no type, and only the running host knows it",
            "Add `type: ethernet`, or what it is",
        )
        yield Found(Rule.STEP_TYPE, file, *said, link.line, link.column, path)
    copied = link.get("copy-mac-from")
    if copied is not None:
        said = "`copy-mac-from` needs the running host", "Write `mac-address` instead, with the address of the card"
        yield at(Rule.STEP_MAC, file, copied, f"{path}.copy-mac-from", said)


def _virtual_functions(file: str, path: str, link: Block) -> Iterator[Found]:
    """Yield the virtual functions that are named by their physical one: NetworkManager refuses such a keyfile."""
    for name in dict.fromkeys((text(link, "name"), *ports_of(link), *bases_of(link))):
        if is_virtual_function(name):
            said = (
                f"{name} names a virtual function by its physical one, and only the running host knows its link",
                "Write the name that udev gives the virtual function, or leave it to the second step",
            )
            yield Found(Rule.STEP_FUNCTION, file, *said, link.line, link.column, path)


def _absent(file: str, path: str, link: Block) -> Found:
    said = (
        f"`state: absent` of {text(link, 'name')} removes nothing from a new host",
        f"Remove the interface from the file. {EARLY} where the second step needs it",
    )
    return Found(Rule.STEP_ABSENT, file, *said, link.line, link.column, path)
