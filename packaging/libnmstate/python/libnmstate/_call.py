"""How does a call reach the native module, and how do its result, errors and log come back?"""

from __future__ import annotations

import sys

from . import _errors, _native, error

# What `typing.TYPE_CHECKING` is to type checkers, without the milliseconds that `typing` costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _T = TypeVar("_T")

    Document = Mapping[str, Any] | str
    State = dict[str, Any]

LOGGER_NAME = "libnmstate"
_WARNING = 30


def encoded(document: Document) -> tuple[str, bool]:
    """Text for the native module: YAML as it was written, a mapping as JSON."""
    if isinstance(document, str):
        return document, False
    import json

    try:
        return json.dumps(document), True
    except (TypeError, ValueError) as cause:
        raise error.NmstateValueError(f"the state cannot be written as JSON: {cause}") from cause


def decoded(text: str) -> State:
    """The JSON text of a state as a dict."""
    import json

    state: State = json.loads(text)
    return state


def native(function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a native function; raises a class of `libnmstate.error` when it fails."""
    _native.set_log_level(_wanted_level())
    try:
        return function(*args, **kwargs)
    except _native.Failure as failure:
        kind, message, details = failure.args
        raise _errors.from_failure(kind, message, details) from None


def _wanted_level() -> int:
    # A program that never imported logging hears warnings only, as logging itself would do.
    logging = sys.modules.get("logging")
    if logging is None:
        return _WARNING
    level: int = logging.getLogger(LOGGER_NAME).getEffectiveLevel()
    return max(1, min(level, 255))


def _log(level: int, message: str) -> None:
    import logging

    logging.getLogger(LOGGER_NAME).log(level, "%s", message)


_native.set_log_sink(_log)
