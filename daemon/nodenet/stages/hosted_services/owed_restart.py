"""Does dnsmasq run with an older configuration than that on the disk?

The disk keeps the answer for the next nodenetd.
"""

from __future__ import annotations

from nodenet.core.hosted_services.paths import OWED_RESTART
from nodenet.ports.hosted_services import ConfigurationFiles


class OwedRestart:
    """A restart that dnsmasq needs."""

    def __init__(self, files: ConfigurationFiles) -> None:
        """Look at the disk with the first note."""
        self._files = files
        self._looked = False
        self.is_owed = False

    def note(self, *, changed: bool) -> None:
        """Take note of whether the configuration has just *changed*. Raises PublishFailed."""
        self.is_owed = self.is_owed or changed
        if not self._looked:
            self.is_owed = bool(self._files.remove((OWED_RESTART,))) or self.is_owed
            self._looked = True
        if self.is_owed:
            self._files.write({OWED_RESTART: ""})

    def done(self) -> None:
        """Take note that dnsmasq reads the present configuration. Raises PublishFailed."""
        self.is_owed = False
        self._files.remove((OWED_RESTART,))
