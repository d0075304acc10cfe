"""Do the manual pages describe the product, and can man(1) show them?"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_main import environment
from make_completions import words
from make_manual import BLOCKS, PAGES, made
from nodenet.cli.main import EPILOG, parser
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.settings import model as settings
from nodenet.core.settings import parse as settings_parser
from nodenet.core.stage_name import StageName

ROOT = Path(__file__).parents[1]
CTL, DAEMON, TOML = (ROOT / "docs/man" / name for name in ("nodenetctl.1", "nodenetd.8", "nodenet.toml.5"))
TYPES = {"String": str, "Boolean": bool, "Integer": int, "Number": float, "List of strings": list}
"""What the page calls the type of a default."""
_SETTING = re.compile(r"^\.It Va (\S+)\n([A-Z][a-z ]+), default\n\.Li (\S+) \.$", re.MULTILINE)
_CODES = re.compile(r"^\.It (\d+)$", re.MULTILINE)


def plain(page: Path) -> str:
    """The text of a page with the characters that its escapes stand for."""
    return page.read_text(encoding="utf-8").replace(r"\&", "").replace(r"\(dq", '"').replace(r"\-", "-")


def section(page: Path, title: str) -> str:
    return plain(page).split(f"\n.Sh {title}\n")[1].split("\n.Sh ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_made_is_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert made(text) == text, "run: python tools/make_manual.py"


def test_every_block_is_on_one_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in BLOCKS if text.count(f'.\\" {name}: made from ') != 1] == []


def test_the_page_has_the_verbs_and_options_of_the_parser_and_no_others() -> None:
    listed = set(re.findall(r"^\.It Cm ([a-z -]+?)(?= Oo| Ar|$)", section(CTL, "VERBS"), re.MULTILINE))
    leaves = {
        " ".join(path): inner
        for path, inner in words(parser())
        if not any(isinstance(action, argparse._SubParsersAction) for action in inner._actions)
    }
    assert listed == set(leaves)
    options = {
        option
        for inner in (parser(), *leaves.values())
        for action in inner._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    }
    assert {f"-{name}" for name in re.findall(r"\bFl (-?\w[\w-]*)", plain(CTL))} == options


def test_every_exit_code_is_listed() -> None:
    codes = set(_CODES.findall(section(CTL, "EXIT STATUS")))
    assert set(re.findall(r"\b(\d+) [a-z]", EPILOG)) <= codes
    errors: list[type[NodenetError]] = [NodenetError, *NodenetError.__subclasses__()]
    assert {str(error.exit_code) for error in errors} <= codes


def test_every_setting_is_listed_with_its_type_and_default() -> None:
    listed = {key: (kind.split(" or ")[0], json.loads(default)) for key, kind, default in _SETTING.findall(plain(TOML))}
    assert {key: default for key, (_, default) in listed.items()} == settings.values(settings.Settings())
    assert [key for key, (kind, default) in listed.items() if type(default) is not TYPES[kind]] == []
    assert plain(TOML).count("\n.It Va ") == len(listed)


def test_the_examples_are_settings() -> None:
    examples = re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed$", plain(TOML), re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        assert set(settings_parser.parse([("example", example.encode())]).origins.values()) > {settings.DEFAULT}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_has_examples(page: Path) -> None:
    assert re.search(r"^\.(Dl|Bd -literal) ", section(page, "EXAMPLES"), re.MULTILINE)


def test_the_node_file_of_an_example_is_good() -> None:
    (text,) = re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed$", section(DAEMON, "EXAMPLES"), re.MULTILINE | re.DOTALL)
    words = [sys.executable, "-m", "nodenet.cli.main", "check", "-"]
    done = subprocess.run(words, input=text, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stages_are_in_their_order() -> None:
    assert re.findall(r"^\.It Cm (\S+)$", section(DAEMON, "STAGES"), re.MULTILINE) == list(StageName)


def test_every_published_file_is_listed() -> None:
    """Those that the contract for readers lists, and the directory of the records."""
    table = (ROOT / "docs/published-files.md").read_text(encoding="utf-8").split("\n## ")[0]
    paths = re.findall(r"`(/[^`]+)`", table)
    assert "/run/nodenet/state.json" in paths
    assert [path for path in paths if path not in section(DAEMON, "FILES")] == []


def test_every_variable_of_the_environment_is_listed() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "daemon/nodenet/edge").rglob("*.py"))
    read = set(re.findall(r'environ(?:ment)?\.get\("(\w+)"', source))
    assert set(re.findall(r"Ev (\w+)", section(DAEMON, "ENVIRONMENT"))) == read


def test_every_message_is_described() -> None:
    """Also one whose subject in the journal is only what happened on the node (A13)."""
    listed = re.findall(r"^\.It Li [0-9a-f]{32}\n(.*)$", section(DAEMON, "JOURNAL"), re.MULTILINE)
    assert [text for text in listed if re.sub(r"\W|\.\.\.", "", text) == ""] == []


def test_every_message_is_listed() -> None:
    ids = re.findall(r"^\.It Li ([0-9a-f]{32})$", section(DAEMON, "JOURNAL"), re.MULTILINE)
    assert sorted(ids) == sorted(message.value for message in Message)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.parametrize("program", ["mandoc -Tlint -Wwarning", "groff -ww -z -mdoc -Tutf8"])
def test_nothing_is_wrong_with_the_page(program: str, page: Path) -> None:
    command = program.split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here; packaging/host-packages installs mandoc, and groff with fish")
    done = subprocess.run([*command, page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_see_also_leads_to_pages_that_are_installed_or_of_the_system() -> None:
    """Each of our pages names the two others."""
    names = {page.stem: page.suffix[1:] for page in PAGES}
    for page in PAGES:
        others = [f".Xr {stem} {number}" for stem, number in names.items() if stem != page.stem]
        assert [other for other in others if other not in section(page, "SEE ALSO")] == []
