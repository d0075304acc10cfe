"""day-one ignition, machine-config, secret, install-config: node files inside the files of installers, and back."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one.machine_config import files_in_ignition, render_ignition
from nodenet.core.day_one.reading import ArtefactInvalid, CarriedFile
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

# An Ignition configuration that carries node files or keyfiles; with --extract, the files of one.

MOST_IGNITION_BYTES = 32 << 20


def add_ignition(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print an Ignition 3.2.0 configuration (JSON) whose storage.files are the node files of a folder, with mode "
        "0644, and its keyfiles (*.nmconnection), with mode 0600. With --extract, write the files that an Ignition "
        "configuration of any version 3 carries, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="FILE|DIR", help="a folder of such files, or a node file")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read this configuration; --out names a folder")
    folder.add_output(parser, "the configuration, or the extracted files,")


def run_ignition(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract_ignition(arguments)
    if arguments.path is None:
        raise UsageInvalid("FILE or DIR is needed", remedy="Or read a configuration with --extract FILE --out DIR")
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    keyfiles = folder.keyfiles(arguments.path) if arguments.path.is_dir() else []
    has_node_files = folder.listed(arguments.path).node_files
    files = folder.node_files(arguments.path) if has_node_files or not keyfiles else {}
    findings.refuse(folder.shown(arguments.path, files), Step.SECOND)
    folder.write(render_ignition([*folder.carried(files), *keyfiles]), arguments)
    return 0


def _extract_ignition(arguments: argparse.Namespace) -> int:
    content = folder.read(arguments.extract, MOST_IGNITION_BYTES)
    try:
        files = files_in_ignition(json.loads(content))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    except (ValueError, RecursionError) as error:
        cause = f"{arguments.extract} is not JSON: {error}"
        raise NodeFileInvalid(cause, remedy="Name an Ignition configuration; Butane's YAML is not one") from None
    folder.extracted({file.path.relative_to("/"): file.content for file in files}, arguments)
    return 0


# A MachineConfig that carries node files, a hint, or settings; with --extract, the files of a MachineConfig.

MOST_BYTES = 4 << 20


def add_machine_config(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a MachineConfig that puts the node files of DIR under /etc/nmstate/openshift on every node of a role. "
        "--hint adds /etc/default/nodeip-configuration; --settings adds /etc/nodenet/nodenet.toml.d/20-cluster.toml "
        "with platform, VIPs, network type, domain and load balancer from install-config. With --extract, write the "
        "files that a MachineConfig carries, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="DIR", help="a folder of node files")
    parser.add_argument("--role", metavar="ROLE", help="machine config pool: master, worker or one of your own")
    parser.add_argument("--name", metavar="NAME", help="name of the object (default: 10-nodenet-ROLE)")
    parser.add_argument(
        "--hint", metavar="HINT", help="where the node IP is: an address, a prefix or the name of a link"
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="make settings from this install-config")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read this MachineConfig; --out names a folder")
    folder.add_output(parser, "the object, or the extracted files,")


def run_machine_config(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import machine_config  # noqa: PLC0415 - the command line itself needs no library

    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract(arguments)
    carries = (arguments.path, arguments.hint, arguments.settings)
    if arguments.role is None or not any(each is not None for each in carries):
        cause = "--role and at least one of DIR, --hint and --settings are needed"
        raise UsageInvalid(cause, remedy="Or read a MachineConfig with --extract FILE --out DIR")
    for option, value in (("--role", arguments.role), ("--name", arguments.name)):
        if value is not None and not machine_config.is_name(value):
            raise UsageInvalid(f"{option} {value!r} is not a Kubernetes name", remedy="Use a-z, 0-9, '-' and '.'")
    try:
        text = machine_config.render(_files(arguments), arguments.role, arguments.name)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path or arguments.role, error) from error
    folder.write(text, arguments)
    return 0


def _files(arguments: argparse.Namespace) -> list[CarriedFile]:
    files = _node_files(arguments.path) if arguments.path is not None else []
    if arguments.hint is not None:
        from nodenet.core.day_one.machine_config import hint_file  # noqa: PLC0415

        try:
            files.append(hint_file(arguments.hint))
        except ArtefactInvalid as error:
            raise UsageInvalid(str(error)) from error
    if arguments.settings is not None:
        files.append(_settings(arguments.settings))
    return files


def _node_files(path: Path) -> list[CarriedFile]:
    from nodenet.cli.day_one import findings  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    found = folder.node_files(path)
    carried = folder.carried(found)
    findings.refuse(folder.shown(path, found), Step.SECOND)
    return carried


def _settings(path: Path) -> CarriedFile:
    from nodenet.core.day_one import reading  # noqa: PLC0415
    from nodenet.core.day_one.machine_config import (  # noqa: PLC0415
        cluster_of,
        settings_of,
    )

    text = folder.read(path, folder.MOST_MANIFEST_BYTES).decode()
    cluster, found = cluster_of(str(path), reading.tree(str(path), text))
    if cluster is None or found:
        first = found[0]
        raise NodeFileInvalid(f"{path}, line {first.line}: {first.sentence()}", remedy=first.remedy)
    try:
        return settings_of(cluster)
    except ArtefactInvalid as error:
        raise folder.invalid(path, error) from error


def _extract(arguments: argparse.Namespace) -> int:
    from nodenet.core.day_one import machine_config, reading  # noqa: PLC0415

    content = folder.read(arguments.extract, MOST_BYTES)
    try:
        files = machine_config.files_in(reading.read(str(arguments.extract), content.decode()))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    wanted = {machine_config.place_of(file.path, folder.NODE_FILE_DIR): file.content for file in files}
    if len(wanted) != len(files):
        raise NodeFileInvalid(f"{arguments.extract} has two files of one name", remedy="Extract them one by one")
    folder.extracted(wanted, arguments)
    return 0


# The Secret with a host's node file, and the BareMetalHost that names it, for a host that is added later.


def add_secret(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a Secret that carries the node file, and the BareMetalHost that names it, as YAML documents: the fields "
        "to merge into it, or with --bmh the whole manifest, in which every other byte stays. The node file is in the "
        "Secret as it is, secrets included; with --out the file is readable by its owner only. With --extract, write "
        "the node files that Secrets carry, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="FILE", help="the node file of the host")
    parser.add_argument("--host", metavar="NAME", help="name of the BareMetalHost")
    parser.add_argument("--bmh", type=Path, metavar="FILE", help="the manifest of the BareMetalHost")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read these Secrets; --out names a folder")
    folder.add_output(parser, "the documents")


def run_secret(arguments: argparse.Namespace) -> int:
    """Print or write them; return the exit code. Raises NodenetError."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import manifests  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract_secret(arguments)
    if arguments.path is None or arguments.host is None:
        raise UsageInvalid("FILE and --host are needed", remedy="Or read Secrets with --extract FILE --out DIR")
    content = folder.read(arguments.path)
    try:
        secret = manifests.secret(arguments.host, content)
        host = manifests.host_patch(arguments.host)
    except ArtefactInvalid as error:
        raise folder.invalid("--host", error) from error
    findings.refuse({str(arguments.path): content}, Step.FIRST)
    if arguments.bmh is not None:
        host = _manifest(arguments)
    between = "" if host.startswith("---") else "---\n"
    folder.write(f"{secret}{between}{host}", arguments)
    return 0


def _manifest(arguments: argparse.Namespace) -> str:
    from nodenet.core.day_one import manifests  # noqa: PLC0415
    from nodenet.core.day_one.manifests import named  # noqa: PLC0415

    text = folder.read(arguments.bmh, folder.MOST_MANIFEST_BYTES).decode()
    try:
        return named(text, arguments.host, manifests.secret_name(arguments.host))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.bmh, error) from error


def _extract_secret(arguments: argparse.Namespace) -> int:
    from nodenet.core.day_one import manifests  # noqa: PLC0415

    text = folder.read(arguments.extract, folder.MOST_MANIFEST_BYTES).decode()
    try:
        files = manifests.node_files_in(text)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    folder.extracted(files, arguments)
    return 0


# install-config with the node file of each bare-metal host; every other byte stays.


def add_install_config(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print install-config with platform.baremetal.hosts[].networkConfig filled from the node file that has the "
        "host's name. Comments, order and quoting stay; a host that has another networkConfig is an error. With "
        "--extract, write the networkConfig of each host into the folder --out, as HOST.yml."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="install-config.yaml")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--node-files", type=Path, metavar="DIR", help="a folder of node files")
    what.add_argument("--extract", action="store_true", help="write what is there into files; --out names a folder")
    folder.add_map(parser)
    folder.add_output(parser, "install-config, or the extracted files,")


def run_install_config(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import manifests  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    if arguments.extract:
        folder.needs_folder(arguments)
    text = folder.read(arguments.path, folder.MOST_MANIFEST_BYTES).decode()
    try:
        if arguments.extract:
            return _extract_install_config(manifests.network_configs(text), arguments)
        contents = folder.node_files(arguments.node_files)
        files = {name: content.decode() for name, content in contents.items()}
        by_host = _by_host(manifests.hosts(text), files, folder.mapped(arguments.map))
        used = {name: contents[name] for name in by_host.values()}
        findings.refuse(folder.shown(arguments.node_files, used), Step.FIRST)
        made = manifests.fill(text, {host: files[name] for host, name in by_host.items()})
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path, error) from error
    folder.write(made.text, arguments)
    for host in made.without_file:
        note(f"nodenetctl: no node file for host {host}: it keeps what {arguments.path} says")
    return 0


def _extract_install_config(found: Mapping[str, str], arguments: argparse.Namespace) -> int:
    if not found:
        raise NodeFileInvalid(f"{arguments.path}: no host has a networkConfig", remedy="Look at its hosts")
    if strange := [host for host in found if "/" in host or host in (".", "..")]:
        raise NodeFileInvalid(f"{arguments.path}: {strange[0]!r} is not a host name", remedy="Correct the name")
    folder.extracted({PurePosixPath(f"{host}.yml"): text.encode() for host, text in found.items()}, arguments)
    return 0


def _by_host(hosts: Iterable[str], files: dict[str, str], mapped: dict[str, str]) -> dict[str, str]:
    """Return the name of each host's node file: the mapped one, else HOST.yml, else HOST.yaml. Raises UsageInvalid."""
    if strange := sorted(set(mapped) - set(hosts)):
        raise UsageInvalid(f"--map names the host {strange[0]}, which install-config does not have")
    found = {}
    for host in hosts:
        names = [mapped[host]] if host in mapped else [f"{host}.yml", f"{host}.yaml"]
        name = next((name for name in names if name in files), None)
        if name is None and host in mapped:
            raise UsageInvalid(f"--map names the node file {mapped[host]}, which does not exist")
        if name is not None:
            found[host] = name
    return found
