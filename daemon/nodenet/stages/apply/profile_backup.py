"""How is a profile stored before libnmstate changes it, so that it can be restored with every comment?"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.core.value import frozen
from nodenet.ports import Files, Profiles

PRIVATE = 0o600
"""NetworkManager ignores keyfiles that others may read (nm-settings-keyfile(5))."""
WITHOUT_COMMENTS = "NetworkManager has its settings, but not its comments"


@frozen
class ProfileKeeper:
    """Stores the settings that NetworkManager has for a profile, and the rest of its file."""

    profiles: Profiles
    files: Files

    async def keep(self, uuid: str) -> KeptProfile:
        """Return the profile with its secrets and its file. Raises Unavailable, PublishFailed."""
        kept = await self.profiles.keep(uuid)
        content = self.files.read(kept.file) if kept.file else None
        try:
            return replace(kept, keyfile=content.decode() if content is not None else None)
        except UnicodeDecodeError:
            return kept

    async def give_back(self, kept: KeptProfile) -> PublishFailed | None:
        """Make the profile what it was, and its file to the byte; return why the file is not, if so.

        NetworkManager has all settings then and writes its own text of them. Raises Unavailable.
        """
        await self.profiles.give_back(kept)
        if kept.file is None or kept.keyfile is None:
            return None
        try:
            written = self.files.write(kept.file, kept.keyfile.encode(), PRIVATE)
        except PublishFailed as error:
            return error.saying(f"{error.cause}; {WITHOUT_COMMENTS}", error.remedy)
        if written:
            await self.profiles.load(str(kept.file))
        return None
