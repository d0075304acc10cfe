"""How is a state shown to people?"""

from __future__ import annotations

from . import _native
from ._call import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FIRST = (
    "name",
    "type",
    "state",
    "enabled",
    "dns-resolver",
    "route-rules",
    "routes",
    "interfaces",
)


class PrettyState:
    """A state with the keys that identify things first, the rest in alphabetical order."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.state: dict[str, Any] = _ordered(state)

    @property
    def yaml(self) -> str:
        """The state as a YAML document, `---` first."""
        import json

        return "---\n" + native(_native.yaml_from_json, json.dumps(self.state))

    @property
    def json(self) -> str:
        """The state as JSON, indented by four."""
        import json

        return json.dumps(self.state, indent=4)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=_rank)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value


def _rank(key: str) -> tuple[int, str]:
    return (_FIRST.index(key) if key in _FIRST else len(_FIRST), key)
