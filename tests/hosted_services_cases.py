"""Read the cases under ``fixtures/hosted_services``: one directory each, with the inputs and what must come of them.

``python tests/hosted_services_cases.py`` writes every expectation again, for review: read the difference.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / "daemon")]

from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Origin, Place, Role, Service, Spec
from nodenet.core.hosted_services.plan import Plan, plan
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.settings.model import Enabled

CASES = Path(__file__).parents[1] / "fixtures" / "hosted_services"
FILES = {
    Service.DNSMASQ: "dnsmasq.conf",
    Service.KEEPALIVED: "keepalived.conf",
    Service.HAPROXY: "haproxy.cfg",
    Service.REDIRECT: "redirect.nft",
}


def directories() -> list[Path]:
    """Return the directory of every case."""
    return sorted(path for path in CASES.iterdir() if path.is_dir())


def read_inputs(directory: Path) -> Inputs:
    """Return the inputs of the case in *directory*; an unknown key is an error."""
    values = tomllib.loads((directory / "inputs.toml").read_text())
    here = values.pop("here")
    inputs = Inputs(
        options=_options(values.pop("options")),
        here=Here(here["name"], _places(here.get("places", [])), here.get("remote_worker", False)),
        spec=_spec(values.pop("spec", {})),
        spec_origin=Origin(values.pop("spec_origin", "default")),
        nodes=tuple(
            ClusterNode(n["name"], _addresses(n["addresses"]), Role(n["role"])) for n in values.pop("nodes", [])
        ),
        nodes_origin=Origin(values.pop("nodes_origin", "default")),
    )
    assert not values, f"{directory.name}: {values}"
    return inputs


def _addresses(texts: list[str]) -> tuple[IPAddress, ...]:
    return tuple(map(ip_address, texts))


def _places(rows: list[dict[str, str]]) -> dict[Any, Place]:
    places = [Place(ip_address(row["address"]), row["link"], ip_network(row["network"])) for row in rows]
    return {family_of(place.address): place for place in places}


def _options(values: dict[str, Any]) -> Options:
    kinds: dict[str, Callable[[Any], Any]] = {
        "api_vips": _addresses,
        "ingress_vips": _addresses,
        "enabled": Enabled,
        "role": Role,
    }
    return Options(**{key: kinds[key](value) if key in kinds else value for key, value in values.items()})


def _spec(values: dict[str, Any]) -> Spec:
    addresses = _addresses(values.pop("api_int_addresses", []))
    return Spec(**values, api_int_addresses=addresses)


def summary(made: Plan) -> dict[str, Any]:
    """Return a plan without its texts, as ``expected.json`` has it."""
    return {
        "mode": made.mode,
        "role": made.role,
        "api_int": {
            "addresses": [str(address) for address in made.api_int.addresses],
            "origin": made.api_int.origin,
            "mode": made.api_int.mode,
        },
        "services": {duty.service: {"wanted": duty.wanted, "reason": duty.reason} for duty in made.duties},
        "vips": [
            {"address": str(duty.address), "purpose": duty.purpose, "wanted": duty.wanted, "reason": duty.reason}
            for duty in made.vips
        ],
        "problems": list(made.problems),
        "pending": list(made.pending),
    }


def files_of(made: Plan) -> Mapping[str, str]:
    """Return every file of the expectation by name."""
    texts = {FILES[service]: text for service, text in made.texts.items()}
    if made.hosts:
        texts["hosts"] = made.hosts
    return {**texts, "expected.json": json.dumps(summary(made), indent=2) + "\n"}


def _write() -> None:
    for directory in directories():
        wanted = files_of(plan(read_inputs(directory)))
        for path in directory.iterdir():
            if path.name != "inputs.toml" and path.name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            (directory / name).write_text(text)


if __name__ == "__main__":
    _write()
