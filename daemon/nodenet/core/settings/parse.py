"""How are the settings files read and merged, and what is refused?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.keys import KEYS, Refused, meant
from nodenet.core.settings.model import DEFAULT, TABLES, Settings, SettingsResult, Written, values
from nodenet.core.settings.toml_text import MOST_SHOWN, flat, shown


def parse(documents: Sequence[tuple[str, bytes]]) -> SettingsResult:
    """Return the settings of *documents*, (path, content) pairs of which a later one wins, key by key.

    Raises SettingsInvalid naming the file, the key (or line) and what was expected.
    """
    settings = Settings()
    origins = dict.fromkeys(values(settings), DEFAULT)
    if not documents:
        return SettingsResult(settings, MappingProxyType(origins))
    for path, content in documents:
        for key, value in read(path, content, tuple(origins)).items():
            settings = _with(settings, key, Written(value, path) if key == "hint" else value)
            origins[key] = path
    if why := settings.hosted.contradiction:
        file = max((origins["hosted.api_port"], origins["hosted.lb_port"]), key=lambda origin: origin != DEFAULT)
        raise SettingsInvalid(f"{file}: {why}", remedy=f"Edit {file}")
    return SettingsResult(settings, MappingProxyType(origins))


def _with(settings: Settings, key: str, value: Any) -> Settings:  # noqa: ANN401 - the type depends on the key
    table, _, name = key.rpartition(".")
    if table == "stages":
        return replace(settings, stages=MappingProxyType({**settings.stages, name: value}))
    if table in TABLES:
        return replace(settings, **{table: replace(getattr(settings, table), **{name: value})})
    return replace(settings, **{key.replace(".", "_"): value})


def read(path: str, content: bytes, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the checked values of one settings file under their dotted keys. Raises SettingsInvalid."""
    checked = {}
    for key, value in flat(path, content, {key.partition(".")[0] for key in keys if "." in key}):
        if key not in KEYS:
            near = meant(key[:MOST_SHOWN], keys)
            remedy = f"Edit {path}" if near else f"Remove it; the keys are: {', '.join(keys)}"
            raise SettingsInvalid(f"{path}: unknown key {shown(key)}{near}", remedy=remedy)
        try:
            checked[key] = KEYS[key](value)
        except Refused as refused:
            raise SettingsInvalid(f"{path}: {key} = {shown(value)}: {refused}", remedy=f"Edit {path}") from None
    return checked
