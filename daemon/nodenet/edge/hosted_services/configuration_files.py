"""How are the configurations of hosted services written, so that no program reads half of one?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from nodenet.edge.files import disk


class ConfigurationFiles:
    """Files below /run, each written whole; equal content is not written again."""

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        """Write each file where it differs; return those that did. Raises PublishFailed."""
        return frozenset(path for path, text in texts.items() if disk.write(path, text.encode()))

    def remove(self, paths: Iterable[PurePath]) -> frozenset[PurePath]:
        """Remove files; return those that were there. Raises PublishFailed."""
        return frozenset(path for path in paths if disk.remove(path))
