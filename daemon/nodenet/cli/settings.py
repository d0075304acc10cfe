"""Which settings would nodenetd read now, and which file sets each of them?"""

from __future__ import annotations

import argparse
import json

from nodenet.core.settings import model, parse
from nodenet.edge.files import settings as settings_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print every setting, its value and the file that sets it, as nodenetd would read them now. The values are "
        "printed in the notation of the settings files. Exits 78 when the settings are not valid."
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument(
        "--directory",
        default=settings_files.DIRECTORY,
        metavar="DIR",
        help="read nodenet.toml and nodenet.toml.d in this directory (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the settings; return the exit code. Raises SettingsInvalid."""
    result = parse.parse(settings_files.read(arguments.directory))
    values = model.values(result.settings)
    if arguments.json:
        entries = [{"key": key, "value": value, "origin": result.origins[key]} for key, value in values.items()]
        print(json.dumps({"schema_version": 1, "settings": entries}, indent=2))
        return 0
    shown = {key: json.dumps(value) for key, value in values.items()}
    widths = max(map(len, shown)), max(map(len, shown.values()))
    for key, value in shown.items():
        print(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {result.origins[key]}")
    return 0
