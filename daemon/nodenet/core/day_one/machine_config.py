"""How are node files written into a MachineConfig, and how are they read back? (machineconfiguration.openshift.io/v1)

The object is written with fixed lines and base64, so that the same files give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from nodenet.core.day_one import ignition
from nodenet.core.day_one.files import TEXT, ArtefactInvalid, CarriedFile, to_data_url, yaml_word

MOST_BYTES = 1 << 20
"""What an object may have at the most: etcd refuses larger requests (1.5 MiB), base64 and metadata included."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_KIND, _API = "MachineConfig", "machineconfiguration.openshift.io/v1"


def is_name(text: str) -> bool:
    """Return whether *text* can be the name of a MachineConfig or of a pool."""
    return _NAME.fullmatch(text) is not None


def render(files: Iterable[CarriedFile], role: str, name: str | None = None) -> str:
    """Return the object as YAML; *name* is ``10-nodenet-<role>`` unless it is given.

    *role* is the name of a machine config pool: ``master``, ``worker`` or a pool of the cluster's own. Raises
    ArtefactInvalid when the object would be too large.
    """
    lines = [
        f"apiVersion: {_API}",
        f"kind: {_KIND}",
        "metadata:",
        "  labels:",
        f"    machineconfiguration.openshift.io/role: {yaml_word(role)}",
        f"  name: {yaml_word(name or f'10-nodenet-{role}')}",
        "spec:",
        "  config:",
        "    ignition:",
        f"      version: {ignition.VERSION}",
        "    storage:",
        "      files:",
    ]
    for file in sorted(files, key=lambda file: file.path):
        lines += [
            "      - contents:",
            f"          source: {to_data_url(file.content)}",
            f"        mode: {file.mode}",
            "        overwrite: true",
            f"        path: {yaml_word(str(file.path))}",
        ]
    text = "\n".join(lines) + "\n"
    if len(text) > MOST_BYTES:
        raise ArtefactInvalid(
            f"the MachineConfig would have {len(text)} bytes, {MOST_BYTES} are the most: split the nodes into pools"
        )
    return text


def size_with(files: Iterable[tuple[str, int]]) -> int:
    """Return about how many bytes the object has with node files of these names and sizes."""
    each = len("      - contents:\n          source: \n        mode: 420\n        overwrite: true\n        path: \n")
    return 300 + sum(each + len(TEXT) + 4 * ((size + 2) // 3) + len(name) + 24 for name, size in files)


def files_in(found: object) -> tuple[CarriedFile, ...]:
    """Return the files of a MachineConfig, as YAML values. Raises ArtefactInvalid naming the place."""
    if not isinstance(found, Mapping) or found.get("kind") != _KIND:
        kind = found.get("kind") if isinstance(found, Mapping) else found
        raise ArtefactInvalid(f"$.kind is {kind!a}; expected {_KIND}")
    if found.get("apiVersion") != _API:
        raise ArtefactInvalid(f"$.apiVersion is {found.get('apiVersion')!a}; expected {_API}")
    spec = found.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    return ignition.files_in(config, "$.spec.config")


def place_of(path: PurePosixPath, node_file_dir: PurePosixPath) -> PurePosixPath:
    """Return where an extracted file is written, below the output folder: node files by name, others by whole path."""
    return PurePosixPath(path.name) if path.parent == node_file_dir else PurePosixPath(*path.parts[1:])
