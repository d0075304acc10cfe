"""Where is each node IP, and who gave it, as people read it in the status?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def places(document: Mapping[str, Any]) -> str:
    """Return the node IPs of a document as people read them, each with its link and source."""
    found = document.get("node_ip_places") or [
        {"address": address, "link": document["link"] or "", "source": ""} for address in document["node_ips"]
    ]
    words = [f"{item['address']} ({item['source']})" if item["source"] else item["address"] for item in found]
    links = [item["link"] for item in found]
    if len(set(links)) == 1:
        return ", ".join(words) + (f" on {links[0]}" if links[0] else "")
    return ", ".join(f"{word} on {link}" if link else word for word, link in zip(words, links, strict=True))
