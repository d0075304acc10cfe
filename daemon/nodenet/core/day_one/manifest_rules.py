"""Which rules do MachineConfigs and Secrets break that carry node files, beside each other and beside the folder?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath

from nodenet.core.day_one import machine_config, reading
from nodenet.core.day_one.bare_metal_host import content_in
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.found import Found
from nodenet.core.day_one.host_rules import differing, file_of
from nodenet.core.day_one.hosts import Host
from nodenet.core.day_one.node_rules import Summary, shape_of
from nodenet.core.day_one.rules import Rule
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block, Misread
from nodenet.core.value import frozen


@frozen
class Manifest:
    """One document of a file of manifests."""

    file: str
    document: Block

    @property
    def name(self) -> str:
        """The name of the object, empty where it has none."""
        metadata = self.document.get("metadata")
        return text(metadata, "name") if isinstance(metadata, Block) else ""

    @property
    def role(self) -> str:
        """The role of a MachineConfig."""
        metadata = self.document.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Block) else None
        return text(labels, "machineconfiguration.openshift.io/role") if isinstance(labels, Block) else ""


def machine_configs(
    manifests: list[Manifest], files: Mapping[str, Summary], node_file_dir: PurePosixPath
) -> Iterator[Found]:
    """Yield paths that two MachineConfigs of a role write, and node files that differ from those of the folder."""
    first: dict[tuple[str, PurePosixPath], Manifest] = {}
    for manifest in manifests:
        place = (manifest.document.line, manifest.document.column)
        try:
            carried = machine_config.files_in(reading.values(manifest.document))
        except ArtefactInvalid as error:
            remedy = "Correct it, or make it again: `nodenetctl day-one machine-config`"
            yield Found(Rule.SHAPE, manifest.file, str(error), remedy, *place)
            continue
        for file in carried:
            known = first.setdefault((manifest.role, file.path), manifest)
            if known is not manifest:
                cause = f"{manifest.name} writes {file.path}, and so does {known.name} in {known.file}"
                yield Found(Rule.PATH_TWICE, manifest.file, cause, "Keep one of the two", *place)
            summary = files.get(file.path.name) if file.path.parent == node_file_dir else None
            if summary is not None and sha256(file.content).hexdigest() != summary.digest:
                cause = f"{manifest.name} has other content for {file.path.name} than {summary.file}"
                remedy = "Make it again: `nodenetctl day-one machine-config`, or take its files with --extract"
                yield Found(Rule.MC_DIFFERS, manifest.file, cause, remedy, *place)


def secrets(
    hosts: tuple[Host, ...], manifests: list[Manifest], files: Mapping[str, Summary], mapped: Mapping[str, str]
) -> Iterator[Found]:
    """Yield what is wrong with the Secrets that BareMetalHosts name."""
    by_name = {manifest.name: manifest for manifest in manifests}
    for host in hosts:
        if host.secret is None:
            continue
        manifest = by_name.get(host.secret.text)
        if manifest is None:
            cause = f"the Secret {host.secret.text} of {host.name.text} is not in the file"
            remedy = f"Make it: `nodenetctl day-one secret FILE --host {host.name.text}`"
            yield Found(Rule.SECRET_MISSING, host.file, cause, remedy, host.secret.line, host.secret.column)
            continue
        yield from _secret(host, manifest, files, mapped)


def _secret(host: Host, manifest: Manifest, files: Mapping[str, Summary], mapped: Mapping[str, str]) -> Iterator[Found]:
    remedy = f"Make it again: `nodenetctl day-one secret FILE --host {host.name.text}`"
    place = (manifest.document.line, manifest.document.column)
    try:
        tree = reading.tree(manifest.name, content_in(reading.values(manifest.document)).decode())
    except ArtefactInvalid as error:
        yield Found(Rule.SECRET_SHAPE, manifest.file, f"Secret {manifest.name}: {error}", remedy, *place)
        return
    except (Misread, UnicodeDecodeError):
        cause = f"Secret {manifest.name}: its document is not YAML"
        yield Found(Rule.SECRET_SHAPE, manifest.file, cause, remedy, *place)
        return
    if not isinstance(tree, Block) or tree.get("interfaces") is None:
        cause = f"Secret {manifest.name}: its document is not an NMState document"
        yield Found(Rule.SECRET_SHAPE, manifest.file, cause, remedy, *place)
        return
    name = file_of(host.name.text, files, mapped)
    if name is not None:
        yield from differing(Rule.SECRET_DIFFERS, host, shape_of(tree), files[name])
