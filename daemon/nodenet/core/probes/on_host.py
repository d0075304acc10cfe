"""By which names does the kernel list the links of a node file?

A file may identify a NIC by its MAC address; its name is that of the profile then. And libnmstate knows a link by its
alternative names as well (ip-link(8), ``altname``). What is compared with the kernel's answers needs the kernel's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import demands


def on_host(wish: Desired, present: Iterable[Link]) -> Desired:
    """Return *wish* with the kernel's names, as far as the links are among the *present* ones."""
    names = _names(wish, list(present))
    if not names or wish.document is None:
        return wish

    def new(found: frozenset[str]) -> frozenset[str]:
        return frozenset(names.get(name, name) for name in found)

    links = replace(wish.links, existing=new(wish.links.existing), made=new(wish.links.made))
    addresses = tuple((names.get(link, link), address) for link, address in wish.addresses)
    return replace(wish, links=links, addresses=addresses, demands=demands(wish.document, names))


def _names(wish: Desired, present: list[Link]) -> Mapping[str, str]:
    """Return name in the file → name of the kernel, where they differ."""
    nics = sorted((each for each in present if each.is_nic), key=lambda each: each.master is None)
    by_mac = {each.hardware_mac.lower(): each.name for each in nics if each.hardware_mac}  # of twins the master
    by_altname = {altname: each.name for each in present for altname in each.altnames}
    taken = {each.name for each in present}
    names = {name: by_altname[name] for name in wish.links.existing - taken if name in by_altname}
    names |= {name: by_mac[mac] for name, mac in wish.links.macs.items() if mac in by_mac}
    return {name: found for name, found in names.items() if name != found}
