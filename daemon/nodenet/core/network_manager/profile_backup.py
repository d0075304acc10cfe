"""How is a connection profile stored, so that it can be restored unchanged, in this boot or a later one?"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from nodenet.core.value import frozen


@frozen
class KeptProfile:
    """A profile with its secrets: the file it is kept in is for root only.

    *settings* is JSON of the edge's making, with the types of D-Bus. *keyfile* is the text of the file at *path*,
    which an administrator may have commented; None where it could not be read as text. *in_memory*: it would not
    have survived a reboot.
    """

    uuid: str
    name: str
    path: str
    in_memory: bool
    settings: Any
    keyfile: str | None = None

    @property
    def file(self) -> PurePath | None:
        """The keyfile on disk, if it was one."""
        return PurePath(self.path) if self.path and not self.in_memory else None

    @property
    def link(self) -> str:
        """The link that the profile names, "" where it names none."""
        return self._text("interface-name")

    @property
    def kind(self) -> str:
        """``connection.type``."""
        return self._text("type")

    @property
    def controller_kind(self) -> str:
        """What the link is a port of, as ``ovs-port`` or ``bond``; "" for no port."""
        return self._text("port-type") or self._text("slave-type")

    def _text(self, key: str) -> str:
        packed = self.settings.get("connection") if isinstance(self.settings, dict) else None
        values = packed[1] if isinstance(packed, list) else packed
        match values.get(key) if isinstance(values, dict) else None:
            case ["variant", "s", ["plain", str(text)]]:
                return text
        return ""

    def for_link(self, old: str, new: str) -> KeptProfile:
        """Return the profile for a link that was called *old* and is called *new* now.

        A profile that matches its link by anything else than that name is returned unchanged.
        """
        settings = json.loads(json.dumps(self.settings).replace(_named(old), _named(new)))
        keyfile = self.keyfile and re.sub(
            rf"(?m)^(interface-name[ \t]*=[ \t]*){re.escape(old)}[ \t]*$", rf"\g<1>{new}", self.keyfile
        )
        return replace(self, settings=settings, keyfile=keyfile)


def _named(link: str) -> str:
    """Return ``connection.interface-name`` as the settings have it."""
    return f'"interface-name": ["variant", "s", {json.dumps(["plain", link])}]'
