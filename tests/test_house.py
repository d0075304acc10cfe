"""The house rules: what ARCHITECTURE.md and CONTRIBUTING.md say of the code, held against the code.

Each rule is a function from source to complaints, so that the last tests can show that it complains at all.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import make_map
import rooms
import size
from nodenet.cli.main import VERBS
from nodenet.core.messages import Message

ROOT = Path(__file__).parents[1]
DAEMON = ROOT / "daemon"
SOURCES = sorted((DAEMON / "nodenet").rglob("*.py"))
HARNESS = sorted(path for tier in ("lab", "vm") for path in (ROOT / "tests" / tier / "harness").rglob("*.py"))
MANUAL = sorted((ROOT / "docs" / "man").glob("*.[158]"))
CATALOG = ROOT / "units" / "nodenet.catalog"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WORDS = 35_000
"""What all documents together may have: a reader has to find something."""

PURE = (
    *(
        "__future__",
        "base64",
        "binascii",
        "collections",
        "collections.abc",
        "contextlib",
        "annotationlib",
        "dataclasses",
        "enum",
        "functools",
        "inspect",
        "sys",
        "itertools",
        "operator",
    ),
    *("types", "typing", "csv", "difflib", "fnmatch", "hashlib", "ipaddress", "json", "math", "re", "string", "struct"),
    *("bisect", "html", "shlex", "tomllib", "urllib.parse", "ruamel.yaml", "ruamel.yaml.constructor"),
    "ruamel.yaml.error",
)
"""What core may import beside itself, and pathlib's pure paths."""
NO_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"})
MAX_FILE, MAX_FUNCTION = 600, 40
CORE_ITSELF = {
    "__init__.py",
    "errors.py",
    "messages.py",
    "ip.py",
    "json_reader.py",
    "record_version.py",
    "since.py",
    "stage_name.py",
    "value.py",
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(DAEMON).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every (module, name) that is imported, wherever it stands; the name is empty for a whole module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            yield from ((node.module or "", alias.name) for alias in node.names)


@functools.cache
def text_of(path: Path) -> str:
    """Return a file's content; every rule reads the same files."""
    return path.read_text(encoding="utf-8")


@functools.cache
def tree_of(source: str) -> ast.Module:
    """Return the syntax tree of *source*."""
    return ast.parse(source)


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def ours(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of ours that are imported, without the leading ``nodenet.``."""
    for origin, name in imports(tree):
        # `from nodenet.edge.bus import call` is an import of nodenet.edge.bus.call
        target = f"{origin}.{name}" if (DAEMON / origin.replace(".", "/")).is_dir() and name else origin
        if within(target, "nodenet") and target != "nodenet.__version__":
            yield target.removeprefix("nodenet.")


def wrong_way(module: str, source: str) -> list[str]:
    """Return what *module* imports and tools/rooms.py does not allow."""
    name = module.removeprefix("nodenet.")
    if name == "nodenet":
        return [f"{module} imports {target}" for target in ours(tree_of(source))]
    complaints = []
    for target in ours(tree_of(source)):
        shared = rooms.room_of(target) == "core" and name not in rooms.ALONE  # core/errors.py and its like
        if not (shared or any(within(target, prefix) for prefix in rooms.allowed(name))):
            complaints.append(f"{module} imports {target}")
    return complaints


def circles(sources: Mapping[str, str]) -> list[str]:
    """Return the modules that reach themselves by imports; a package stands for nothing but its ``__init__``."""
    arrows = {name.removeprefix("nodenet."): set(ours(tree_of(text))) for name, text in sources.items()}
    reached = {name: set(targets) for name, targets in arrows.items()}
    for _ in arrows:
        grown = {name: targets.union(*(arrows.get(one, ()) for one in targets)) for name, targets in reached.items()}
        if grown == reached:
            break
        reached = grown
    return sorted(name for name, targets in reached.items() if name in targets)


def impure(module: str, source: str) -> list[str]:
    """What a module of core does and may not."""
    tree = tree_of(source)
    complaints = []
    for origin, name in imports(tree):
        in_memory = (origin == "pathlib" and name.startswith("Pure")) or (origin, name) in (
            ("io", "StringIO"),
            ("io", ""),
        )
        if not (origin in PURE or in_memory or within(origin, "nodenet")):
            complaints.append(f"{module} imports {origin} {name}")
    for node in ast.walk(tree):
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            complaints.append(f"{module}:{node.lineno} awaits")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("open", "print", "input")
        ):
            complaints.append(f"{module}:{node.lineno} calls {node.func.id}")
    return complaints


def too_long(name: str, source: str) -> list[str]:
    """The file and the functions that nobody reads in one go."""
    lines = source.count("\n")
    complaints = [f"{name} has {lines} lines"] if lines > MAX_FILE else []
    for node in ast.walk(tree_of(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION:
                complaints.append(f"{name}:{node.lineno} {node.name} has {length} lines")
    return complaints


def test_imports_run_one_way() -> None:
    assert [complaint for path in SOURCES for complaint in wrong_way(name_of(path), text_of(path))] == []


def test_no_module_reaches_itself_by_imports() -> None:
    assert circles({name_of(path): text_of(path) for path in SOURCES}) == []


def test_every_folder_and_module_is_a_room() -> None:
    """What is new below core or edge has its line in tools/rooms.py, and no line is left over."""
    for family, listed, others in (("core", rooms.CORE, CORE_ITSELF), ("edge", rooms.EDGE, {"__init__.py"})):
        place = DAEMON / "nodenet" / family
        folders = {path.parent.name for path in place.glob("*/__init__.py")}
        modules = {path.stem for path in place.glob("*.py") if path.name not in others}
        assert sorted([*folders, *modules]) == sorted(listed), family


def test_no_permission_is_left_over() -> None:
    """An arrow that no import uses any more is taken out of tools/rooms.py."""
    used = {
        (rooms.room_of(name_of(path).removeprefix("nodenet.")), target)
        for path in SOURCES
        for target in ours(tree_of(text_of(path)))
    }
    for family, listed in (("core", rooms.CORE), ("edge", rooms.EDGE)):
        for room, others in listed.items():
            prefixes = [f"core.{other}" if family == "core" else other for other in others]
            unused = [
                p for p in prefixes if not any(who == f"{family}.{room}" and within(target, p) for who, target in used)
            ]
            assert unused == [], f"{family}.{room}"
    for room, targets in rooms.OTHERS.items():
        assert [p for p in targets if not any(who == room and within(target, p) for who, target in used)] == [], room
    for module, targets in rooms.EXCEPTIONS.items():
        path = DAEMON / "nodenet" / f"{module.replace('.', '/')}.py"
        imported = list(ours(tree_of(text_of(path))))
        assert [p for p in targets if not any(within(target, p) for target in imported)] == [], module


def test_only_what_every_room_uses_lies_in_core_itself() -> None:
    rest = {path.name for path in (DAEMON / "nodenet/core").glob("*.py") if path.stem not in rooms.CORE}
    assert rest == CORE_ITSELF


def test_the_map_is_drawn_from_the_law() -> None:
    page = make_map.PAGE.read_text()
    assert make_map.picture() in page, "run: python tools/make_map.py"
    assert make_map.made(page) == page


def test_the_floors_of_core_hold() -> None:
    assert sorted(room for floor in rooms.floors() for room in floor) == sorted(rooms.CORE)


def test_core_only_thinks() -> None:
    core = [path for path in SOURCES if path.is_relative_to(DAEMON / "nodenet/core")]
    assert core
    assert [complaint for path in core for complaint in impure(name_of(path), text_of(path))] == []


def test_everything_is_short() -> None:
    files = [*SOURCES, *HARNESS]
    assert [complaint for path in files for complaint in too_long(str(path.relative_to(ROOT)), text_of(path))] == []


def test_every_folder_has_tests() -> None:
    """In the same place below tests/; a test module is named after behaviour, not after a module of the product."""
    folders = {path.parent for path in SOURCES if name_of(path).split(".")[1:2] in (["core"], ["stages"], ["loop"])}
    assert folders
    untested = [
        one for one in folders if not any((ROOT / "tests" / one.relative_to(DAEMON / "nodenet")).glob("test_*.py"))
    ]
    assert untested == []


def riddles(text: str) -> list[str]:
    """Return the words of *text* that our plain English does without: a reader has to translate them."""
    words = (
        r"\b(?:told|tells?|somebody|whoever|in vain|at hand|bec[oa]mes? of|(?<!--)anew"
        r"|nobody(?![`\"]))\b"  # `nobody` is a value in JSON, `--anew` the former name of an option
    )
    return re.findall(words, text, re.IGNORECASE)


def test_the_words_are_plain() -> None:
    """The field's terms instead: report, print, log, return, another program, a client."""
    files = [*SOURCES, *DOCUMENTS, *MANUAL, CATALOG]
    assert [(str(path.relative_to(ROOT)), words) for path in files if (words := riddles(text_of(path)))] == []


def test_a_riddle_is_seen() -> None:
    assert riddles("Whoever asks is told so; nobody may tell") == ["Whoever", "told", "nobody", "tell"]
    assert riddles("what becomes of it when it is made anew with --anew") == ["becomes of", "anew"]


def test_no_room_is_called_after_nothing() -> None:
    assert [str(path) for path in (*SOURCES, *HARNESS) if path.stem in NO_NAMES] == []


def test_every_module_says_what_it_answers() -> None:
    assert [name_of(path) for path in SOURCES if not ast.get_docstring(tree_of(text_of(path)))] == []


def test_no_test_patches_the_product() -> None:
    """Fakes satisfy the ports; what is patched is not what runs."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    guilty = [path for path in tests if re.search(r"unittest.mock|mock\.patch|monkeypatch\.setattr", path.read_text())]
    assert guilty == []


def test_message_ids_are_random_and_unique() -> None:
    """sd-id128 in lower case; a second name for one id would be an alias and vanish from the enum."""
    assert [message.name for message in Message if not re.fullmatch("[0-9a-f]{32}", message.value)] == []
    assert set(Message.__members__) == {message.name for message in Message}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code_of(markdown: str) -> str:
    """What stands in code blocks and between backticks."""
    blocks = re.findall(r"^ *```.*?^ *```", markdown, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`[^`]+`", rest)])


def unknown_commands(markdown: str) -> list[str]:
    """Commands that a document tells people to type and that do not exist."""
    code = code_of(markdown)
    made = re.findall(r"(?<![\w-])make ([a-z]+)", code)
    typed = re.findall(r"(?<![\w/.-])nodenetctl ([a-z-]+)", code)
    return [name for name in made if name not in targets()] + [name for name in typed if name not in VERBS]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_exist(document: Path) -> None:
    assert unknown_commands(document.read_text()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_in_documents_lead_somewhere(document: Path) -> None:
    assert dead_links(document) == []


def dead_links(document: Path) -> list[str]:
    """Links to files that do not exist, or to headings that the page does not have."""
    prose = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link and not leads(document, link)]


def leads(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def anchors(markdown: str) -> set[str]:
    """The anchors that the headings of a page get."""
    prose = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_pages_that_sources_name_exist() -> None:
    """Error texts, units, tests and tools name pages from the root of the repository."""
    places = ("units", "packaging", "tools", "tests/lab", "tests/core", "tests/cli")
    sources = [*SOURCES, *(path for place in places for path in named_sources(place))]
    named = {name for path in sources for name in re.findall(r"(?<![\w/])docs/[\w./-]+\.(?:md|toml)", path.read_text())}
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def named_sources(place: str) -> list[Path]:
    suffixes = {".py", ".service", ".target", ".toml", ".yaml", ".catalog", ".sh"}
    return sorted(path for path in (ROOT / place).rglob("*") if path.suffix in suffixes and path.is_file())


def test_the_documents_are_short() -> None:
    assert sum(size.words(document.read_text()) for document in DOCUMENTS) <= WORDS
    assert size.words((ROOT / "ARCHITECTURE.md").read_text()) <= 2_500


def test_the_readme_begins_with_the_two_commands() -> None:
    commands = re.findall(r"(?<![\w-])make ([a-z]+)", code_of((ROOT / "README.md").read_text()))
    assert commands[:2] == ["demo", "test"]


def test_files_named_in_the_map_exist() -> None:
    """ARCHITECTURE.md names modules below daemon/nodenet, everything else from the root."""
    named = set(
        re.findall(r"`((?:core|edge|stages|cli|tests|units)/[\w./-]+\.\w+)`", (ROOT / "ARCHITECTURE.md").read_text())
    )
    assert named
    assert {name for name in named if not ((DAEMON / "nodenet" / name).exists() or (ROOT / name).exists())} == set()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("nodenet.core.boot.stages", "from nodenet.edge.bus import call"),
        ("nodenet.core.boot.stages", "def f():\n    from nodenet.ports import Clock"),
        ("nodenet.stages.node_ip.stage", "from nodenet.edge.files.disk import write"),
        ("nodenet.edge.files.disk", "from nodenet.edge.bus import call"),
        ("nodenet.core.kernel.snapshot", "from nodenet.core.node_ip.rules import Rule"),
        ("nodenet.stages.resolver", "from nodenet.stages.node_ip import stage"),
        ("nodenet.edge.nmstate.worker", "import nodenet.core.errors"),
        ("nodenet.cli.status", "from nodenet.daemon import main"),
    ],
)
def test_a_wrong_import_is_seen(module: str, source: str) -> None:
    assert wrong_way(module, source)


def test_a_circle_is_seen() -> None:
    sources = {"nodenet.core.a": "from nodenet.core import b", "nodenet.core.b": "from nodenet.core.a import x"}
    assert circles(sources) == ["core.a", "core.b"]


@pytest.mark.parametrize(
    "source", ["import os", "from pathlib import Path", "import time", "open('x')", "async def f(): ..."]
)
def test_impurity_is_seen(source: str) -> None:
    assert impure("nodenet.core.boot.stages", source)


def test_length_is_seen() -> None:
    assert too_long("x.py", "def f():\n" + "    pass\n" * 40) == ["x.py:1 f has 41 lines"]
    assert too_long("x.py", "\n" * 601) == ["x.py has 601 lines"]


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What `it` does\n[a](page.md#what-it-does) [b](#what-it-does) [c](#nothing) [d](gone.md)\n")
    assert dead_links(page) == ["#nothing", "gone.md"]


def test_an_unknown_command_is_seen() -> None:
    assert unknown_commands("`make tea` and\n```\nnodenetctl dance\nmake test\n```\n") == ["tea", "dance"]
