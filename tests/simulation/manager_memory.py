"""What NetworkManager keeps in memory: it ends with the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodenet.core.network_manager.profiles import Profile
from simulation.addressing import Device


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint; *actives*: (kind, link) → UUID."""

    path: str
    created: float
    profiles: Mapping[str, Profile]
    actives: Mapping[tuple[str, str], str | None]
    foreign: bool
    boottime: float
    """When it was made, in CLOCK_BOOTTIME."""
    seconds: float
    """After which it is rolled back."""


@dataclass(slots=True)
class Memory:
    """What ends with the process."""

    number: int
    profiles: dict[str, Profile] = field(default_factory=dict)
    devices: dict[tuple[str, str], Device] = field(default_factory=dict)
    points: dict[str, Point] = field(default_factory=dict)
    began: float = 0.0
    read: bool = False
    startup: bool = True
