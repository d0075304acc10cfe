"""What does a browser make of a page? Chromium opens it; its tree is searched by role, and a complaint is a failure."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

COMMAND = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--log-level=0", "--disable-background-networking", "--no-first-run"),
)
VOID = frozenset({"meta", "br", "hr", "link", "img", "input", "rect", "line", "path"})
ROLES = {
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "nav": "navigation",
    "main": "main",
    "table": "table",
    "summary": "button",
    "th": "header",
    "td": "cell",
    "a": "link",
    "caption": "caption",
    "pre": "text",
}
"""Element → the role that a browser gives it (HTML accessibility mappings); an attribute `role` comes first."""


@dataclass
class Page(HTMLParser):
    """The texts of a document by role, and whether its elements are closed in order."""

    text: str
    found: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    _open: list[tuple[str, str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the document."""
        super().__init__()
        self.feed(self.text)
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag, _, _ in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        known = dict(attrs)
        self.ids += [str(known["id"])] if "id" in known else []
        role = str(known.get("role") or ROLES.get(tag, ""))
        label = known.get("aria-label")
        if role and label:
            self.found.setdefault(f"{role} name", []).append(label)
        if any(name.startswith("on") or name in ("style", "src") for name, _ in attrs) or tag in ("script", "iframe"):
            self.wrong.append(f"<{tag}> is active: {attrs}")
        if tag not in VOID:
            self._open.append((tag, role, []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element of SVG that has no content."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element; its text is that of its role."""
        if tag in VOID:
            return
        if not self._open or self._open[-1][0] != tag:
            self.wrong.append(f"</{tag}> closes nothing, or something else")
            return
        _, role, words = self._open.pop()
        said = " ".join("".join(words).split())
        if role:
            self.found.setdefault(role, []).append(said)
        if self._open:
            self._open[-1][2].append(f"{said} ")

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._open:
            self._open[-1][2].append(data)

    def of(self, role: str) -> list[str]:
        """Return the texts of *role*."""
        return self.found.get(role, [])


def opened(path: Path, profile: Path) -> Page:
    """Return the page as Chromium has it after it was opened. Raises AssertionError if the console says anything."""
    done = _run("--dump-dom", path=path, profile=profile)
    assert complaints(done.stderr) == []
    return Page(done.stdout)


def complaints(log: str) -> list[str]:
    """Return what the console of a page said."""
    return re.findall(r".*\bCONSOLE\b.*", log)


def shot(path: Path, picture: Path, profile: Path, *, dark: bool = False, size: tuple[int, int] = (1200, 2600)) -> None:
    """Make a picture of a page, as a light or a dark desktop shows it."""
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    words = f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", scheme
    _run(*words, path=path, profile=profile)


def printed(path: Path, paper: Path, profile: Path) -> None:
    """Print a page to a PDF file."""
    _run(f"--print-to-pdf={paper}", "--no-pdf-header-footer", path=path, profile=profile)


def _run(*words: str, path: Path, profile: Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, f"--user-data-dir={profile}", *words, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
