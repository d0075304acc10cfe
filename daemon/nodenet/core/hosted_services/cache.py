"""What does this node keep on disk about its cluster, and can it be used?

A cache holds one document of the API (the resource, or the list of nodes) with its resource version, the name of its
cluster and a checksum. A torn file, or a file of another cluster, is not used.
"""

from __future__ import annotations

import hashlib
import json

from nodenet.core.record_version import refusal
from nodenet.core.value import frozen

SCHEMA_VERSION = 1
MOST_BYTES = 16 << 20


class CacheInvalid(ValueError):
    """The file cannot be used; the text says why."""


@frozen
class Cached:
    """One document; *generation* is the object's own, *boot_id* the boot in which it was read."""

    document: object
    cluster_domain: str
    resource_version: str
    generation: int = 0
    boot_id: str = ""


def render(cached: Cached) -> bytes:
    """Return the file: two lines, the checksum of the second one and that line."""
    body = json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "cluster_domain": cached.cluster_domain,
            "resource_version": cached.resource_version,
            "generation": cached.generation,
            "boot_id": cached.boot_id,
            "document": cached.document,
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    return _checksum(body) + b"\n" + body + b"\n"


def parse(content: bytes, cluster_domain: str) -> Cached:
    """Return the cached document. Raises CacheInvalid for a torn file and for another cluster's."""
    if len(content) > MOST_BYTES:
        raise CacheInvalid(f"it has {len(content)} bytes; {MOST_BYTES} are the most")
    checksum, _, body = content.rstrip(b"\n").partition(b"\n")
    if checksum != _checksum(body):
        raise CacheInvalid("its checksum is wrong: it was not written to its end, or was changed")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise CacheInvalid(f"it is not JSON: {error}") from None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if why := refusal(version, SCHEMA_VERSION):
        raise CacheInvalid(why)
    kinds = {"cluster_domain": str, "resource_version": str, "generation": int, "boot_id": str}
    if wrong := [key for key, kind in kinds.items() if not isinstance(found.get(key), kind)]:
        raise CacheInvalid(f"its {wrong[0]} is missing or of another type")
    if found["cluster_domain"] != cluster_domain:
        raise CacheInvalid(f"it is of the cluster {found['cluster_domain']!a}, not of {cluster_domain}")
    return Cached(found.get("document"), *(found[key] for key in kinds))


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
