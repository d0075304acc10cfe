r"""Which parts of the manual pages are made from the product? `python tools/make_manual.py` writes them.

A marked block of a page (mdoc(7), `.\" NAME: made from …`) is made from what runs: the verbs and options from
nodenetctl's parser, the messages from the journal's catalog. The rest of a page is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / "daemon")]

from make_completions import words
from nodenet.cli.main import parser

ROOT = Path(__file__).parents[1]
MESSAGES = ROOT / "daemon" / "nodenet" / "core" / "messages.py"
PAGES = sorted((ROOT / "docs" / "man").glob("*.[158]"))
_BLOCK = re.compile(r'(?P<head>\.\\" (?P<name>[a-z]+): made from [^\n]+\n).*?(?P<tail>\.\\" end\n)', re.DOTALL)
_SUBJECT = re.compile(r"^-- ([0-9a-f]{32})\nSubject: (.*)$", re.MULTILINE)


def made(page: str) -> str:
    """Return *page* with its marked blocks as they should be."""
    return _BLOCK.sub(lambda block: f"{block['head']}{BLOCKS[block['name']]()}{block['tail']}", page)


def _verbs() -> str:
    return "".join(f"{line}\n" for path, verb in words(parser()) if not _is_group(verb) for line in _verb(path, verb))


def _messages() -> str:
    catalog = (ROOT / "units" / "nodenet.catalog").read_text(encoding="utf-8")
    entries = _SUBJECT.findall(catalog)
    subjects = ((number, re.sub(r"(: )?@\w+@$|@\w+@", "…", subject)) for number, subject in entries)
    meant = _meanings()
    shown = ((number, meant[number] if subject == "…" else subject.removesuffix("…")) for number, subject in subjects)
    return "".join(f".It Li {number}\n{_text(subject)}\n" for number, subject in shown)


def _meanings() -> dict[str, str]:
    """Return what core/messages.py says about each event: some have no subject but what happened on the node."""
    module = ast.parse(MESSAGES.read_text(encoding="utf-8"))
    body = next(each for each in module.body if isinstance(each, ast.ClassDef)).body
    pairs = pairwise(body)
    return {
        str(ast.literal_eval(one.value)): str(ast.literal_eval(said.value)).removesuffix(".")
        for one, said in pairs
        if isinstance(one, ast.Assign) and isinstance(said, ast.Expr)
    }


def _verb(path: tuple[str, ...], verb: argparse.ArgumentParser) -> Iterator[str]:
    options = [action for action in verb._actions if action.option_strings and action.help != argparse.SUPPRESS]
    options = [action for action in options if action.dest != "help"]
    arguments = [action for action in verb._actions if not action.option_strings]
    taken = " Oo Ar option ... Oc" if options else ""
    yield f".It Cm {_text(' '.join(path))}{taken}" + "".join(f" Ar {_name(action)}" for action in arguments)
    yield from _paragraphs(verb.description or "")
    if options or arguments:
        yield ".Bl -tag -width Ds"
        for action in (*arguments, *options):
            yield _tag(action)
            yield from _sentences(_help(action, verb))
        yield ".El"
    if verb.epilog:
        yield ".Pp"
        yield from _paragraphs(verb.epilog[0].upper() + verb.epilog[1:])


def _tag(action: argparse.Action) -> str:
    flags = " , ".join(f"Fl {_text(option[1:])}" for option in action.option_strings)
    value = f" Ar {_name(action)}" if action.nargs != 0 else ""
    return f".It {flags}{value}" if flags else f".It Ar {_name(action)}"


def _help(action: argparse.Action, verb: argparse.ArgumentParser) -> str:
    text = str(action.help) % {**vars(action), "prog": verb.prog}
    return text if action.choices is None else f"{text}: {', '.join(map(str, action.choices))}"


def _name(action: argparse.Action) -> str:
    return _text(str(action.metavar or action.dest.upper()))


def _is_group(verb: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in verb._actions)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield mdoc of *text*, whose paragraphs stand between empty lines and whose examples are indented."""
    for number, paragraph in enumerate(text.strip("\n").split("\n\n")):
        if paragraph.startswith("  "):
            yield ".Bd -literal -offset indent"
            yield from map(_text, textwrap.dedent(paragraph).splitlines())
            yield ".Ed"
            continue
        if number:
            yield ".Pp"
        yield from _sentences(" ".join(paragraph.split()))


def _sentences(text: str) -> Iterator[str]:
    """Yield each sentence on its line, as mdoc wants them."""
    return map(_text, re.split(r"(?<=[.?]) (?=[A-Z`])", text))


def _text(text: str) -> str:
    """Return *text* for troff: what is typed can be copied, with its hyphens and backquotes as they are."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    escaped = re.sub(r"`([^`]+)`", r"\\(oq\1\\(cq", escaped).replace("'$ARGS.named'", r"\(aq$ARGS.named\(aq")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


BLOCKS: Mapping[str, Callable[[], str]] = {"verbs": _verbs, "messages": _messages}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")
