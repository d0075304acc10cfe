"""How does a test start the entry point of an image as a pod of the manifest does, where no runtime can start a pod?

As the user of the image, without capabilities or new privileges, on a read-only root, in the namespaces of its own that
it needs: mounts and processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

START = """
root=$0
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
	mkdir -p "$root$2"
	mount --bind "$1" "$root$2"
	mount -o remount,ro,bind "$root$2"
	shift 2
done
shift
mount -t proc proc "$root/proc"
mount -o remount,ro,bind "$root"
exec "$@"
"""
DROPPED = ("setpriv", "--no-new-privs", "--bounding-set=-all,+setuid,+setgid,+sys_chroot")


def command(
    root: Path, config: Mapping[str, Any], arguments: Sequence[str], mounts: Mapping[str, Path]
) -> list[str | Path]:
    """Return the command that starts an image's entry point in *root*.

    *config* is the part of that name in the OCI image specification; *mounts* has a directory for each place.
    """
    user, _, group = str(config["User"]).partition(":")
    bound = [word for place, directory in mounts.items() for word in (directory, place)]
    inside = ["chroot", f"--userspec={user}:{group}", root, "/usr/bin/env", "-i", *config["Env"], *config["Entrypoint"]]
    namespaces = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"]
    return [*namespaces, "sh", "-euc", START, root, *bound, "--", *DROPPED, *inside, *arguments]
