"""To which document does an NMState policy lead on this node, and which one is kept?

A policy is resolved once, against the network before its change, and the document is written before that network is
touched: with br-ex there, the same captures find something else. A file with another text is resolved again, and so is
one whose document never came into force when a reload orders it. All else of nodenet works with the document. The
document in force is in the marker `applied` as well: a record that is lost or damaged costs nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import PurePath, PurePosixPath
from typing import Any

from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.nmstate.state import without_addresses
from nodenet.core.node_file import policy
from nodenet.core.node_file.find import APPLIED, NodeFile
from nodenet.core.node_file.yaml_text import Block, load
from nodenet.core.ownership.things import Others, without_others
from nodenet.ports import Files, Store, Transaction
from nodenet.stages.apply.records import PRIVATE, STATE, Records

RECORD = STATE / "policies.json"
FOUND_ANOTHER = (
    "Look at what the captures find now: the default route may leave by br-ex, which also has the MAC address of its "
    'NIC; `capture.NAME | interfaces.type=="ethernet"` finds the NIC alone'
)


class Policies:
    """The documents of the newest policies, by the SHA-256 of these."""

    def __init__(self, files: Files, directory: PurePath, store: Store | None = None) -> None:
        """Keep them through *files*, or through *store*; *directory* has the marker."""
        self._files = files
        self._marker = PurePosixPath(directory / APPLIED)
        self._store = store
        self._records = Records(files, store)

    def known(self, file: NodeFile) -> NodeFile:
        """Return *file* with the document that it was resolved to, unchanged where it was not. Raises PublishFailed."""
        if not any(key in file.text for key in policy.KEYS):
            return file
        text = self._all().get(file.digest) or self._in_force(file.digest)
        return NodeFile.of(file.name, text, policy=file.text) if text else file

    def keep(self, file: NodeFile) -> None:
        """Keep the document of a policy. Raises PublishFailed."""
        digest = hashlib.sha256(file.policy.encode()).hexdigest()
        content = policy.render(policy.kept(self._all(), digest, file.text))
        if self._store:
            self._store.save_ahead(RECORD, content)
        else:
            self._files.write(RECORD, content, PRIVATE)

    def _in_force(self, digest: str) -> str:
        """Return the document in force, if it is that of the policy with this *digest*."""
        text = ((self._store or self._files).read(self._marker) or b"").decode(errors="replace")
        return text if policy.is_of(text, digest) else ""

    def _all(self) -> dict[str, str]:
        return self._records.load(RECORD, policy.parse_record) or {}


async def resolved(file: NodeFile, transaction: Transaction, others: Others) -> NodeFile:
    """Return *file* with the document that it leads to on the present network, without what *others* have there.

    Raises NodeFileInvalid where a capture finds nothing, LibnmstateMissing, Unavailable.
    """
    document = await asyncio.to_thread(load, file.name, file.text)
    if not isinstance(document, Block):
        raise NodeFileInvalid(f"{file.name} is no policy", remedy="Write a mapping")
    try:
        network = own_part(await transaction.show(secrets=True), others)
        made = await asyncio.to_thread(policy.filled, file.name, document, network)
        differs = await transaction.of_policy(file.text, json.dumps(made.document), network) if made.looks else {}
    except NmstateFailure as failure:
        if failure.kind is FailureKind.MISSING:
            raise LibnmstateMissing(failure.cause, remedy=failure.remedy) from failure
        is_wrong = failure.kind is FailureKind.INVALID
        kind, remedy = (NodeFileInvalid, FOUND_ANOTHER) if is_wrong else (Unavailable, failure.remedy)
        raise kind(f"{file.name} cannot be resolved: {failure.cause}", remedy=remedy) from failure
    return policy.resolved(file, made, differs)


def own_part(state: dict[str, Any], others: Others) -> dict[str, Any]:
    """Return what captures look at: *state* without what *others* have on it."""
    network = without_others(state, others)
    links = network.get("interfaces") or ()
    bare = [
        next(iter(without_addresses({"interfaces": [link]}, others.addresses(str(link.get("name"))))["interfaces"]))
        for link in links
    ]
    return {**network, "interfaces": bare}
