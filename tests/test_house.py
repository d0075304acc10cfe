"""The house rules: what ARCHITECTURE.md and CONTRIBUTING.md say of the code, held against the code.

Each rule is a function from source to complaints, so that the last tests can show that it complains at all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodenet.cli.main import VERBS
from nodenet.core.messages import Message

ROOT = Path(__file__).parents[1]
DAEMON = ROOT / "daemon"
SOURCES = sorted((DAEMON / "nodenet").rglob("*.py"))
HARNESS = sorted(path for tier in ("lab", "vm") for path in (ROOT / "tests" / tier / "harness").rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

MAY_IMPORT = {
    # room → rooms it may import; the first prefix that fits a module is its room
    "nodenet.core": ("nodenet.core",),
    "nodenet.ports": ("nodenet.core",),
    "nodenet.stages": ("nodenet.core", "nodenet.ports", "nodenet.stages"),
    "nodenet.loop.journal": ("nodenet.core",),
    "nodenet.loop.requests": ("nodenet.core",),
    "nodenet.loop.reload": ("nodenet.core", "nodenet.ports"),
    "nodenet.loop.watchdog": ("nodenet.core", "nodenet.ports", "nodenet.loop.requests"),
    "nodenet.loop.reconciler": (
        *(
            "nodenet.core",
            "nodenet.ports",
            "nodenet.loop.watchdog",
            "nodenet.loop.reload",
            "nodenet.loop.requests",
            "nodenet.loop.journal",
        ),
    ),
    "nodenet.edge.nmstate.worker": (),
    "nodenet.edge.kernel.watcher": (),
    **dict.fromkeys(
        (
            "nodenet.edge.bus.service",
            "nodenet.edge.bus.watch",
            "nodenet.edge.network_manager.dns",
            "nodenet.edge.hostname.hostnamed",
            "nodenet.edge.hostname.lease_names",
            "nodenet.edge.network_manager.state",
            "nodenet.edge.network_manager.profiles",
            "nodenet.edge.resolver.resolved",
            "nodenet.edge.systemd.units",
        ),
        ("nodenet.core", "nodenet.edge.bus.connection"),
    ),
    "nodenet.edge.bus.connection": ("nodenet.core", "nodenet.edge.bus.call"),
    "nodenet.edge": ("nodenet.core",),
    "nodenet.assembly": ("nodenet.core", "nodenet.ports", "nodenet.stages", "nodenet.loop.reload", "nodenet.edge"),
    "nodenet.daemon": ("nodenet.core", "nodenet.assembly", "nodenet.loop.reconciler", "nodenet.edge"),
    # What the daemon gathers and what the command explains must be the same.
    "nodenet.cli.facts_here": ("nodenet.core", "nodenet.edge", "nodenet.cli", "nodenet.stages.br_ex.gather"),
    "nodenet.cli": ("nodenet.core", "nodenet.edge", "nodenet.cli"),
    "nodenet": (),
}
PURE = (
    *("__future__", "collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "operator"),
    *("types", "typing", "difflib", "fnmatch", "hashlib", "ipaddress", "json", "math", "re", "string", "struct"),
    *("bisect", "html", "tomllib", "ruamel.yaml", "ruamel.yaml.constructor", "ruamel.yaml.error"),
)
"""What core may import beside itself, and pathlib's pure paths."""
NO_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"})
MAX_FILE, MAX_FUNCTION = 300, 40


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


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def wrong_way(module: str, source: str) -> list[str]:
    """What *module* imports of ours and may not."""
    allowed = next(rooms for room, rooms in MAY_IMPORT.items() if within(module, room))
    complaints = []
    for origin, name in imports(ast.parse(source)):
        # `from nodenet.edge import bus` is an import of nodenet.edge.bus.connection
        target = f"{origin}.{name}" if (DAEMON / origin.replace(".", "/")).is_dir() and name else origin
        ours = within(target, "nodenet") and target != "nodenet.__version__"
        if ours and not any(within(target, room) for room in allowed):
            complaints.append(f"{module} imports {target}")
    return complaints


def impure(module: str, source: str) -> list[str]:
    """What a module of core does and may not."""
    tree = ast.parse(source)
    complaints = []
    for origin, name in imports(tree):
        pure_path = origin == "pathlib" and name.startswith("Pure")
        if not (origin in PURE or pure_path or within(origin, "nodenet")):
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
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION:
                complaints.append(f"{name}:{node.lineno} {node.name} has {length} lines")
    return complaints


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_run_one_way(path: Path) -> None:
    assert wrong_way(name_of(path), path.read_text()) == []


@pytest.mark.parametrize("path", sorted((DAEMON / "nodenet/core").rglob("*.py")), ids=name_of)
def test_core_only_thinks(path: Path) -> None:
    assert impure(name_of(path), path.read_text()) == []


@pytest.mark.parametrize("path", [*SOURCES, *HARNESS], ids=lambda path: str(path.relative_to(ROOT)))
def test_everything_is_short(path: Path) -> None:
    assert too_long(path.name, path.read_text()) == []


def test_no_room_is_called_after_nothing() -> None:
    assert [str(path) for path in (*SOURCES, *HARNESS) if path.stem in NO_NAMES] == []


def test_every_module_says_what_it_answers() -> None:
    assert [name_of(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))] == []


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
    blocks = re.findall(r"^```.*?^```", markdown, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
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
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


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
        ("nodenet.core.boot.stages", "from nodenet.edge import bus"),
        ("nodenet.core.boot.stages", "def f():\n    from nodenet.ports import Clock"),
        ("nodenet.stages.node_ip.stage", "from nodenet.edge.files.disk import write"),
        ("nodenet.edge.files.disk", "from nodenet.edge import bus"),
        ("nodenet.edge.nmstate.worker", "import nodenet.core.errors"),
        ("nodenet.cli.status", "from nodenet.daemon import main"),
    ],
)
def test_a_wrong_import_is_seen(module: str, source: str) -> None:
    assert wrong_way(module, source)


@pytest.mark.parametrize(
    "source", ["import os", "from pathlib import Path", "import time", "open('x')", "async def f(): ..."]
)
def test_impurity_is_seen(source: str) -> None:
    assert impure("nodenet.core.boot.stages", source)


def test_length_is_seen() -> None:
    assert too_long("x.py", "def f():\n" + "    pass\n" * 40) == ["x.py:1 f has 41 lines"]
    assert too_long("x.py", "\n" * 301) == ["x.py has 301 lines"]


def test_an_unknown_command_is_seen() -> None:
    assert unknown_commands("`make tea` and\n```\nnodenetctl dance\nmake test\n```\n") == ["tea", "dance"]
