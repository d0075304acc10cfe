"""What does a node file ask for, as far as the boot must know before libnmstate reads it?

libnmstate gets the *text* of the file, unchanged. This parse is for look-ups only, and keeps every scalar
as it is written (YAML 1.2): a MAC address is never read as a number, ``1e3`` and ``010`` stay names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.link_types import refuse_unknown

BRIDGE = "br-ex"
DEEPEST = 10
SECRET_KEYS = frozenset({"password", "private-key-password", "mka-cak", "psk"})
"""Keys whose values must not be seen by anybody: 802.1X, MACsec, IPsec (nmstate's API reference)."""
OVS_KEYS = frozenset({"ovs-db", "ovn"})
"""Top-level keys that libnmstate writes into Open vSwitch's database (nmstate's API reference)."""
ORDER = "allow-extra-patch-ports"
MAIN_TABLE = 254
"""RT_TABLE_MAIN of rtnetlink(7): the table of a route that names none."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The look-ups: *empty*: nothing but comments; *uses_ovs*: Open vSwitch must be there first."""

    empty: bool
    uses_ovs: bool = False
    bridges: frozenset[str] = frozenset()
    """What it brings itself of Open vSwitch."""
    secrets: frozenset[str] = frozenset()
    """Values that must not get into journal, status or bus."""

    @property
    def brings_bridge(self) -> bool:
        """Whether configure-ovs has nothing to do."""
        return BRIDGE in self.bridges


def parse(file: NodeFile) -> Desired:
    """Return the look-ups of a node file. Raises NodeFileInvalid naming file, line and remedy."""
    document = _load(file)
    if document in (None, ""):
        return Desired(empty=True)
    if not isinstance(document, Mapping):
        raise NodeFileInvalid(
            f"{file.name}, line 1: not a mapping of NMState keys",
            remedy="An NMState document begins with keys such as `interfaces:`",
        )
    entries = _sequence(file, document, "interfaces")
    refuse_unknown(file.name, entries)
    links = [link for link in entries if isinstance(link, Mapping)]
    _refuse_twins(file, links)
    present = [link for link in links if link.get("state") != "absent"]
    return Desired(
        empty=False,
        uses_ovs=not OVS_KEYS.isdisjoint(document) or any(_is_ovs(link) for link in present),
        bridges=frozenset(str(link.get("name")) for link in present if _is_ovs(link)),
        secrets=frozenset(_secrets(document)),
    )


def secrets_in(text: str) -> frozenset[str]:
    """Return the secrets of a document. Raises NodeFileInvalid when it cannot be read."""
    return frozenset(_secrets(_load(NodeFile("", text, ""))))


def without_secrets(text: str, secrets: frozenset[str]) -> str:
    """Return *text*, an error that may quote the node file, with every secret of the file blotted out."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "<hidden>")
    return text


def _secrets(part: object, depth: int = 0) -> Iterator[str]:
    """Yield the secret values of a document; deeper than any schema goes nobody looks."""
    if isinstance(part, Mapping) and depth < DEEPEST:
        for key, value in part.items():
            if key in SECRET_KEYS and isinstance(value, str) and value:
                yield value
            yield from _secrets(value, depth + 1)
    elif isinstance(part, list) and depth < DEEPEST:
        for value in part:
            yield from _secrets(value, depth + 1)


def _refuse_twins(file: NodeFile, links: Sequence[Mapping[str, Any]]) -> None:
    """Raise NodeFileInvalid when one link is described twice: libnmstate would silently take the last one.

    A bridge and its internal port share a name (`br-ex`), so the type counts too.
    """
    seen: set[tuple[str, str]] = set()
    for link in links:
        key = (str(link.get("name", "")), str(link.get("type", "")))
        if key in seen:
            raise NodeFileInvalid(
                f"{file.name}: the interface {key[0]!r} is described twice", remedy="Put the two into one entry"
            )
        seen.add(key)


def remaining(difference: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is left of libnmstate's *difference* to *state* once what it only takes for one is left out.

    The state names the main table of every route, a node file rarely does. ``allow-extra-patch-ports`` is an order for
    the apply and no part of any state. Both arguments are documents of libnmstate; an empty result: nothing to do.
    """
    known = [_with_table(route) for route in state.get("routes", {}).get("config", ())]
    left = {key: value for key, value in difference.items() if value and key not in {"routes", "interfaces"}}
    links = [link for link in difference.get("interfaces", ()) if not _is_order_only(link)]
    wanted = difference.get("routes", {}).get("config", ())
    routes = [route for route in wanted if not any(_within(_with_table(route), other) for other in known)]
    left |= {"interfaces": links} if links else {}
    return {**left, "routes": {"config": routes}} if routes else left


def _is_order_only(link: Mapping[str, Any]) -> bool:
    return set(link) <= {"name", "type", "state", "bridge"} and set(link.get("bridge", ())) == {ORDER}


def _with_table(route: Mapping[str, Any]) -> dict[str, Any]:
    table = route.get("table-id")
    return {**route, "table-id": MAIN_TABLE if table in (None, 0) else table}


def _within(part: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    return all(whole.get(key) == value for key, value in part.items())


def _is_ovs(link: Mapping[str, Any]) -> bool:
    return str(link.get("type", "")).startswith("ovs-")


def _sequence(file: NodeFile, document: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = document.get(key) or ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise NodeFileInvalid(f"{file.name}: `{key}` is not a list", remedy=f"Write `{key}:` as a YAML list")
    return value


def _load(file: NodeFile) -> Any:  # noqa: ANN401  (a YAML document is anything until it is looked at)
    # Imported here: 25 ms that a node without a node file need not spend.
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.constructor import DuplicateKeyError  # noqa: PLC0415
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    try:
        return YAML(typ="base", pure=True).load(file.text)
    except DuplicateKeyError as error:
        raise NodeFileInvalid(
            f"{_place(file, error)}: {str(error.problem).split(' with value')[0]}",
            remedy="Keep one of the two; a later key would silently replace the earlier one",
        ) from error
    except MarkedYAMLError as error:
        raise NodeFileInvalid(f"{_place(file, error)}: {error.problem}", remedy="Mend the YAML syntax there") from error
    except (YAMLError, RecursionError) as error:
        text = " ".join(str(error).split()) or "nested too deeply"
        raise NodeFileInvalid(f"{file.name}: {text}", remedy="Mend the YAML syntax") from error


def _place(file: NodeFile, error: Any) -> str:  # noqa: ANN401  (ruamel's mark is untyped)
    mark = error.problem_mark
    return f"{file.name}, line {mark.line + 1}, column {mark.column + 1}" if mark else file.name
