"""Is this a file of another tool, and what should the user do with it? Recognised by its content and by its name."""

from __future__ import annotations

import re

from nodenet.core.day_one.rules import Found, Rule
from nodenet.core.node_file.secret import is_secret
from nodenet.core.node_file.yaml_text import Block, Node, Scalar

_TEMPLATE = re.compile(
    r"\{\{-?\s*(?!capture\.)[\w.$\"'|( ](?!capture\.)|\{%-?\s*\w+|<%=?\s*\w+|\$\{[A-Za-z_]\w*\}|@@[A-Z_]+@@"
    r"|\$\([a-z][a-z0-9_-]*\)"
)
_IFCFG = re.compile(r"(?:DEVICE|BOOTPROTO|ONBOOT|IPADDR\d?|TYPE)=", re.MULTILINE)
_KEYFILE = re.compile(r"\s*(?:[#;][^\n]*\n\s*)*\[(?:connection|ipv4|ethernet|802-3-ethernet)\]")
STATE_KEYS = frozenset({"interfaces", "routes", "dns-resolver", "route-rules", "hostname", "ovs-db", "ovn"})
_NMSTATE_DOCUMENT = "Write the configuration as an NMState document"
_IS_KEYFILE = "this is a keyfile of NetworkManager", "Keyfiles are made from node files: `nodenetctl day-one keyfiles`"
_OF_KIND = {
    "NodeNetworkConfigurationPolicy": "Put only what is below `spec.desiredState` into the file, at the left margin",
    "NMStateConfig": "Put only what is below `spec.config` into the file, at the left margin",
    "MachineConfig": "Extract its files: `nodenetctl day-one machine-config --extract FILE --out DIR`",
    "BareMetalHost": "Give it with --hosts FILE",
    "Secret": "Give it with --hosts FILE, together with its BareMetalHost",
}
"""Kind of a Kubernetes object → what the user should do with its manifest."""


def other_format(file: str, text: str) -> Found | None:
    """Return the finding for a text that is not YAML of any kind that is read here, by its first lines."""
    head = text[:4096]
    said: tuple[str, str] | None = None
    if _KEYFILE.match(head):
        said = _IS_KEYFILE
    elif len(_IFCFG.findall(head)) > 1:
        said = (
            "this is an ifcfg file",
            "Write it as an NMState document; on a host that has it, `nodenetctl day-one from-host` does so",
        )
    return Found(Rule.OTHER_TOOL, file, *said, 1, 1) if said else None


def template(file: str, text: str) -> Found | None:
    """Return the finding for the first placeholder of a template; comments are passed over."""
    for found in _TEMPLATE.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        before = text[begin : found.start()]
        if before.lstrip().startswith("#") or is_secret(before.partition(":")[0].strip(" -\"'")):
            continue
        line = text.count("\n", 0, begin) + 1
        remedy = "Render the template, then check the result"
        if found[0].startswith("$("):
            remedy = "Make the file of each host with `nodenetctl day-one from-csv`, then check these"
        said = "a placeholder of a template was not filled in", remedy
        return Found(Rule.TEMPLATE, file, *said, line, found.start() - begin + 1)
    return None


def other_document(file: str, document: Node) -> Found | None:
    """Return the finding for a document that belongs to another tool."""
    if not isinstance(document, Block) or document.is_list or not document.entries:
        return None
    keys = {key.text for key, _ in document.entries}
    said = _manifest(document) if {"apiVersion", "kind"} <= keys else _of_keys(document, keys)
    if said is None:
        return None
    first = document.entries[0][0]
    return Found(Rule.OTHER_TOOL, file, f"this is {said[0]}, not a node file", said[1], first.line, first.column)


def _manifest(document: Block) -> tuple[str, str]:
    kind = document.get("kind")
    name = kind.text if isinstance(kind, Scalar) else ""
    return f"a Kubernetes manifest ({name or 'no kind'})", _OF_KIND.get(name, "Move it out of the folder of node files")


def _of_keys(document: Block, keys: set[str]) -> tuple[str, str] | None:
    if "baseDomain" in keys or {"platform", "networking"} <= keys:
        return "an install-config", "Give it with --install-config FILE"
    if "network" in keys and not keys & STATE_KEYS:
        inner = document.get("network")
        if isinstance(inner, Block) and any(inner.get(key) for key in ("version", "renderer", "ethernets", "config")):
            return "a netplan or cloud-init network configuration", _NMSTATE_DOCUMENT
    return None


_BY_NAME = (
    (r"(?:ifcfg|route6?|rule6?|keys)-.+", Rule.OTHER_TOOL, ("this is an ifcfg file", _NMSTATE_DOCUMENT)),
    (r".+\.nmconnection", Rule.OTHER_TOOL, _IS_KEYFILE),
    (
        r".+\.(?:j2|jinja2?|tmpl|tpl|erb|gotmpl)",
        Rule.TEMPLATE,
        ("this is a template", "Render it into a file that ends in .yml"),
    ),
)


def named_for_another_tool(name: str) -> tuple[Rule, str, str] | None:
    """Return rule, cause and remedy for the name of a file that nodenetd never reads; None for any other name."""
    for pattern, rule, said in _BY_NAME:
        if re.fullmatch(pattern, name):
            return rule, *said
    return None
