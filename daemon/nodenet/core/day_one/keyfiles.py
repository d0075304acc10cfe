"""Can a node file become keyfiles for the deployment image, and what will be missing there?

libnmstate generates NetworkManager keyfiles offline. What needs the host itself, or Open vSwitch, cannot be generated;
libnmstate silently drops some of these settings, so they are refused here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodenet.core.day_one.document import Document, gateways, interfaces, is_automatic, name_servers

EARLY = "make the document of the first step with `nodenetctl day-one early`"
_KERNEL_NAME = re.compile(r"eth\d+")


def refusals(document: Document) -> tuple[str, ...]:
    """Return why *document* cannot become keyfiles, each a sentence with the remedy; empty: it can."""
    return tuple(_refusals(document))


def warnings(document: Document) -> tuple[str, ...]:
    """Return what may leave a host without network, though keyfiles can be generated."""
    return tuple(_warnings(document))


def _refusals(document: Document) -> Iterator[str]:
    if "capture" in document or "desired" in document:
        yield "It is a policy with capture: that needs the running host. Write the state itself"
    if "hostname" in document:
        yield "hostname is not part of a keyfile. Remove it; the installer sets host names"
    if "ovs-db" in document or "ovn" in document:
        yield f"The image has no Open vSwitch: {EARLY}"
    for interface in interfaces(document):
        name, kind = interface.get("name", "an interface without a name"), interface.get("type")
        if interface.get("state") == "absent":
            yield f"{name}: `state: absent` removes nothing from a new host. Remove the interface from the file"
        elif kind is None:
            yield f"{name}: the type is missing, and only the running host knows it. Add `type: ethernet` or its like"
        elif str(kind).startswith("ovs-"):
            yield f"{name}: {kind} needs Open vSwitch, which the image does not have: {EARLY}"
        elif "copy-mac-from" in interface:
            yield f"{name}: copy-mac-from needs the running host. Write `mac-address` instead"


def _warnings(document: Document) -> Iterator[str]:
    links = [item for item in interfaces(document) if item.get("state", "up") == "up"]
    if not any(map(is_automatic, links)):
        if not gateways(document):
            yield "No default route: the host reaches its own subnets only"
        if not name_servers(document):
            yield "No DNS server: the host cannot resolve the name of the API"
    for interface in links:
        name = str(interface.get("name"))
        if _KERNEL_NAME.fullmatch(name) and interface.get("identifier") != "mac-address":
            yield f"{name} is a name in the kernel's order, which can change: use `identifier: mac-address`"
