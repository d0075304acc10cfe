"""What does a developer need to see of a node that has a problem? One archive, without secrets."""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePath

from nodenet import __version__
from nodenet.cli.outputs import Table, can_be_replaced, moment, note, printable
from nodenet.core.errors import NodenetError, UsageInvalid
from nodenet.core.node_file.find import CLUSTER
from nodenet.core.page.page import page
from nodenet.core.report import secrets
from nodenet.core.report.parts import (
    CONTENTS,
    LONGEST_SECONDS,
    PAGE,
    PARTS,
    SCHEMA_VERSION,
    Made,
    Part,
    document,
    journal_text,
    within_limit,
)
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse
from nodenet.edge import report
from nodenet.edge.archive import NO_ARCHIVE, unpacked
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.files.node_file import read_node_file
from nodenet.edge.report import Output, output

FOLDER = Path("/var/tmp")  # noqa: S108  (the file gets its name by rename(2): a link in its place is replaced)
STDOUT = Path("-")
AT_ONCE = 4
BEFORE_SENDING = "Look at it before you publish it: host names and addresses are in it."
NOT_READABLE = "left out: it is not valid {}, so its secrets cannot be found"
NOT_IN_USE = "not in use on this node"
OWN_FILE = "node-file.txt"
LAST_GOOD = "last-good-node-file.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Write one archive for a bug report and print what is in it: status, settings, node files, explanations, the "
        "journal of this boot and the last one, what NetworkManager, the kernel and Open vSwitch show, and versions. "
        "Passwords and keys are replaced by <hidden>, and comments of node files are left out. Addresses and host "
        "names stay: look at the archive before you publish it. Only its owner can read it. What cannot be read is no "
        "error; the list and the archive name it. As root it is complete."
    )
    parser.description += (
        " The archive has a page for a browser, index.html: status, a drawing of the links, the time line of the boot, "
        "the node file with its problems, differences, history and journal."
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"write to FILE, - for standard output (default: nodenet-report-HOST-TIME.tar.gz in {FOLDER})",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write only the page, to FILE, - for standard output; no archive"
    )
    parser.add_argument(
        "--from",
        dest="archive",
        type=Path,
        metavar="FILE",
        help="with --html: make the page from this archive of any node, and look at nothing of this host",
    )
    parser.add_argument("--json", action="store_true", help="print the list of contents as a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Write the archive and print its contents; return the exit code. Raises UsageInvalid, PublishFailed."""
    now = datetime.now(UTC)
    if arguments.html or arguments.archive:
        return _only_page(arguments, now)
    top = f"nodenet-report-{_host()}-{now:%Y%m%dT%H%M%SZ}"
    path = _path(arguments.output or FOLDER / f"{top}.tar.gz")
    if path == STDOUT and arguments.json:
        raise UsageInvalid("--json and --output - both use standard output", remedy="Write the archive to a file")
    parts = _gathered_here()
    about = _about(now)
    parts = [Made(PAGE, "this report as a page for a browser", page(parts, about, moment).encode()), *parts]
    contents = document(parts, about)
    listed = json.dumps(contents, indent=2).encode() + b"\n"
    packed = report.packed(top, {CONTENTS: listed, **{one.name: one.content for one in parts}}, now.timestamp())
    _write(path, packed)
    if path == STDOUT:
        return 0
    if arguments.json:
        print(json.dumps({"path": str(path), "bytes": len(packed), **contents}, indent=2))
    else:
        print(f"{_text(parts)}\n\n{path} has {len(packed) >> 10} KiB. {BEFORE_SENDING}")
    return 0


def _only_page(arguments: argparse.Namespace, now: datetime) -> int:
    """Write the page alone; return the exit code. Raises UsageInvalid, PublishFailed."""
    if arguments.html is None or arguments.output or arguments.json:
        remedy = "Write `--html FILE`, or `--html FILE --from FILE`"
        raise UsageInvalid("--html makes a page and no archive, and --from needs it", remedy=remedy)
    path = _path(arguments.html)
    made = page_of(arguments.archive) if arguments.archive else page(_gathered_here(), _about(now), moment)
    content = made.encode()
    _write(path, content)
    if path != STDOUT:
        print(f"{path} has {len(content) >> 10} KiB. {BEFORE_SENDING}")
    return 0


def page_of(archive: Path) -> str:
    """Return the page of an archive, which may be of another version, torn or hostile. Raises UsageInvalid."""
    files, notes = unpacked(archive)
    redaction = secrets.Redaction(())
    try:
        contents = json.loads(files[CONTENTS])
        listed = {str(each["name"]): each for each in contents["parts"]}
        about = {key: redaction.hidden_in(str(value)) for key, value in contents.items() if key != "parts"}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageInvalid(f"{archive} has no readable {CONTENTS}", remedy=NO_ARCHIVE) from error
    if about.get("schema_version") != str(SCHEMA_VERSION):
        notes = (*notes, "A newer version of nodenet has made this archive: parts that are new are not shown.")
    names = [*listed, *(name for name in files if name not in listed and name != CONTENTS)]
    parts = [
        Made(name, str(each.get("what", "")), files.get(name, b""), str(each.get("note", "")) or _gone(name, files))
        for name in names
        if name != PAGE and isinstance(each := listed.get(name, {}), dict)
    ]
    return page([_without_secrets(one, redaction, set()) for one in parts], about, moment, notes)


def _gone(name: str, files: Mapping[str, bytes]) -> str:
    return "" if name in files else "the archive has lost it"


def _gathered_here() -> list[Made]:
    if os.geteuid() != 0:
        note("nodenetctl: without root privileges, parts of the report are missing")
    return gathered()


def gathered(commands: tuple[Part, ...] = PARTS) -> list[Made]:
    """Return every part, without secrets; one that fails has a note."""
    until = time.monotonic() + LONGEST_SECONDS
    with ThreadPoolExecutor(AT_ONCE) as pool:
        printed = list(pool.map(lambda part: _printed(part, until), commands))
    files, known = _node_files()
    redaction = secrets.Redaction(known)
    records = {part.name for part in commands if part.record}
    return within_limit([_without_secrets(one, redaction, records) for one in (*files, *printed)])


def _printed(part: Part, until: float) -> Made:
    left = until - time.monotonic()
    if left <= 0:
        return Made(part.name, part.what, note=f"left out: the report took more than {LONGEST_SECONDS:.0f} s")
    found = output(part.command, min(part.seconds, left), part.most_bytes)
    content = journal_text(found.content.decode(errors="replace"), _precise).encode() if part.journal else found.content
    is_whole = part.verdict and content.startswith(b"{") and found.note.startswith("exit status")
    said = "" if is_whole else found.note
    return Made(part.name, part.what, content, NOT_IN_USE if _is_not_in_use(part, found) else said)


def _is_not_in_use(part: Part, found: Output) -> bool:
    """Return whether *part* is about a file or a service that this node does not have."""
    no_file = part.command[0] == "cat" and b"No such file" in found.content
    return no_file or (part.command[1:2] in (("hosted",), ("claims",)) and found.note == "exit status 69")


def _precise(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _node_files() -> tuple[list[Made], set[str]]:
    """Return the node files without their secrets, and every secret that files of this node have."""
    known = {word for text in report.keyfiles() for word in secrets.in_lines(text)}
    known.update(word for text in report.records() for word in secrets.in_json(text))
    files: list[Made] = []
    try:
        directory = PurePath(_settings().node_file_dir)
        for name, text in report.node_files(directory, (_host().lower(), CLUSTER)):
            files.append(_node_file(f"node-files/{name}.json", f"node file {directory / name}", text, known))
    except NodenetError as error:
        files.append(Made("node-files", "node files", note=error.cause))
    files.append(_own_file())
    if text := report.last_good():
        files.append(_node_file(LAST_GOOD, "the last known good node file", text, known))
    return files, known


def _own_file() -> Made:
    """Return the text of this node's file, line by line, for the page."""
    from nodenet.cli import preview  # noqa: PLC0415 - help needs no library

    what = "node file of this node, line by line"
    try:
        path = preview.own_path()
        text = read_node_file(path.parent, path.name).decode(errors="replace")
    except NodenetError as error:
        return Made(OWN_FILE, what, note=error.cause)
    shown = secrets.node_file_lines(path.name, text)
    if shown is None:
        return Made(OWN_FILE, what, note=NOT_READABLE.format("YAML"))
    return Made(OWN_FILE, what, shown.encode())


def _node_file(name: str, what: str, text: str | NodenetError, known: set[str]) -> Made:
    if isinstance(text, NodenetError):
        return Made(name, what, note=text.cause)
    shown, found = secrets.node_file(name, text)
    known |= found
    if shown is None:
        return Made(name, what, note=NOT_READABLE.format("YAML"))
    return Made(name, f"{what}, as JSON", shown.encode())


def _without_secrets(one: Made, redaction: secrets.Redaction, records: set[str]) -> Made:
    text, note = one.content.decode(errors="replace"), redaction.hidden_in(one.note)
    shown = secrets.document(text, redaction) if one.name.endswith(".json") else None
    if shown is None and one.name in records and text and not text.startswith("cat: "):
        return Made(one.name, one.what, note=NOT_READABLE.format("JSON"))
    shown = shown or redaction.hidden_in(text)
    return Made(one.name, one.what, shown.encode(errors="replace"), note)  # JSON may have half of a character


def _settings() -> Settings:
    """Return the settings; the defaults where they are not valid, which settings.txt says."""
    try:
        return parse(settings_files.read()).settings
    except NodenetError:
        return Settings()


def _path(path: Path) -> Path:
    """Return where the output goes. Raises UsageInvalid."""
    if path != STDOUT and not can_be_replaced(path.absolute()):
        raise UsageInvalid(
            f"{path} cannot be a file there",
            remedy="Give the name of a file in a directory that exists, or - for standard output",
        )
    return path.absolute() if path != STDOUT else path


def _write(path: Path, content: bytes) -> None:
    """Write to standard output, or to a file that only its owner can read. Raises PublishFailed."""
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    else:
        disk.write(path, content, report.PRIVATE)


def _host() -> str:
    name = socket.gethostname().partition(".")[0]
    return "".join(char for char in name if char.isascii() and (char.isalnum() or char == "-")) or "node"


def _about(moment: datetime) -> dict[str, str]:
    return {
        "node": socket.gethostname(),
        "made": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "nodenet": __version__,
        "python": platform.python_version(),
        "libnmstate": _libnmstate(),
    }


def _libnmstate() -> str:
    try:
        return metadata.version("libnmstate")
    except metadata.PackageNotFoundError:
        return "not installed"


def _text(parts: list[Made]) -> str:
    table = Table(("FILE", "BYTES", "WHAT", "NOTE"))
    for one in parts:
        table.add((one.name, str(len(one.content)), one.what, printable(one.note)))
    return table.render(coloured=False)
