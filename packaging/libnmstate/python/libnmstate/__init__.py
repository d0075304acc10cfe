"""How does a Python program see and change the network of its host with nmstate?

`show()` returns the state as a dict; `apply()` takes one, or YAML text, and makes the host look
like it. The names are those of the official binding; README.md lists what differs.
"""

from __future__ import annotations

from .error import NmstateError
from .generators import (
    gen_net_state_from_policy,
    generate_configurations,
    generate_differences,
    validate,
)
from .netapplier import apply, commit, rollback
from .netinfo import show, show_running_config
from .prettystate import PrettyState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from . import error as error
    from . import schema as schema

__all__ = [
    "ACCEPTS_TEXT",
    "BASE_ON_RUST",
    "NmstateError",
    "PrettyState",
    "__version__",
    "apply",
    "commit",
    "error",
    "gen_net_state_from_policy",
    "generate_configurations",
    "generate_differences",
    "rollback",
    "schema",
    "show",
    "show_running_config",
    "validate",
]

__version__ = "2.2.62"
BASE_ON_RUST = True
ACCEPTS_TEXT = True
"""States may be given as YAML text, which reaches the crate unchanged; the official binding takes documents only."""


def __getattr__(name: str) -> ModuleType:
    # Constants that few callers need are read when they are asked for.
    if name == "schema":
        import importlib

        return importlib.import_module(".schema", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
