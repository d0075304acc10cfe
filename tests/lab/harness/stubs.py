"""What did kubelet and CRI-O see when they started?

Both are stubs, with real units and real ordering. Their program records its environment, the addresses, the routes,
resolv.conf and `ovs-vsctl show`, and then sleeps. `kubelet.py` has the real kubelet.
"""

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

STUBS = Path(__file__).parent.parent / "stubs"
UNITS = ("crio.service", "kubelet.service")


class Flavour(enum.Enum):
    """How the node's kubelet and CRI-O are packaged."""

    OPENSHIFT = "openshift"
    """Both require kubelet-dependencies.target."""
    PLAIN = "plain"
    """Both are ordered after network-online.target only, as a distribution ships them."""

    @property
    def layers(self) -> tuple[Path, Path]:
        """Directories to lay over the root file system."""
        return STUBS / "recorder", STUBS / self.value


@dataclass(frozen=True, slots=True)
class Record:
    """One start of a stub."""

    unit: str
    starts: int
    """How often it has started in this boot."""
    monotonic: float
    boottime: float
    environment: Mapping[str, str]
    addresses: list[dict[str, Any]]
    """As `ip -j address` prints them."""
    routes: list[dict[str, Any]]
    """As `ip -j route show table all` prints them."""
    resolv_conf: str
    ovs: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a stub's file."""
        return cls(**json.loads(text))
