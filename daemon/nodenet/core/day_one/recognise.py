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
_NETWORKD = re.compile(r"\s*(?:[#;][^\n]*\n\s*)*\[(?:Match|NetDev|Link)\]")
_INTERFACES = re.compile(r"(?:auto|allow-hotplug|iface)\s+\w+", re.MULTILINE)
STATE_KEYS = frozenset({"interfaces", "routes", "dns-resolver", "route-rules", "hostname", "ovs-db", "ovn"})
_NMSTATE_DOCUMENT = "Write the configuration as an NMState document"
_IS_KEYFILE = "this is a keyfile of NetworkManager", "Keyfiles are made from node files: `nodenetctl day-one keyfiles`"
_IS_NETWORKD = "this is a file of systemd-networkd", _NMSTATE_DOCUMENT
_OF_KIND = {
    "NodeNetworkConfigurationPolicy": (
        "a NodeNetworkConfigurationPolicy of kubernetes-nmstate",
        "Put only the part below `spec.desiredState` into the file, moved to the left margin",
    ),
    "NodeNetworkConfigurationEnactment": (
        "a NodeNetworkConfigurationEnactment of kubernetes-nmstate",
        "Put only the part below `status.desiredState` into the file, moved to the left margin",
    ),
    "NodeNetworkState": (
        "a NodeNetworkState of kubernetes-nmstate, the report of a running host",
        "Make a node file from the host itself: `nodenetctl day-one from-host`",
    ),
    "NMStateConfig": (
        "an NMStateConfig of the assisted installer",
        "Put only the part below `spec.config` into the file, moved to the left margin",
    ),
    "MachineConfig": (
        "a MachineConfig",
        "Extract its files: `nodenetctl day-one machine-config --extract FILE --out DIR`",
    ),
    "BareMetalHost": ("a BareMetalHost", "Give it with --hosts FILE"),
    "Secret": ("a Secret", "Give it with --hosts FILE, together with its BareMetalHost"),
    "AgentConfig": (
        "an agent-config of the agent-based installer",
        "Put the part below the `networkConfig` of each host into a file of that host, moved to the left margin",
    ),
}
_BUTANE = frozenset({"fcos", "rhcos", "openshift", "flatcar", "r4e", "fiot"})


def other_format(file: str, text: str) -> Found | None:
    """Return the finding for a text that is not YAML of any kind that is read here, by its first lines."""
    head = text[:4096]
    said: tuple[str, str] | None = None
    if _KEYFILE.match(head):
        said = _IS_KEYFILE
    elif _NETWORKD.match(head):
        said = _IS_NETWORKD
    elif len(_IFCFG.findall(head)) > 1:
        said = (
            "this is an ifcfg file",
            "Write it as an NMState document; on a host that has it, `nodenetctl day-one from-host` does so",
        )
    elif _INTERFACES.match(head):
        said = "this is a file of ifupdown", _NMSTATE_DOCUMENT
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
    return _OF_KIND.get(name, ("a Kubernetes manifest", "Move it out of the folder of node files"))


def _of_keys(document: Block, keys: set[str]) -> tuple[str, str] | None:
    variant = document.get("variant")
    if isinstance(variant, Scalar) and variant.text in _BUTANE:
        return (
            "a Butane configuration",
            "Move it out of the folder; `nodenetctl day-one ignition` makes the Ignition file",
        )
    if "ignition" in keys:
        return "an Ignition configuration", "Move it out of the folder; it is made from node files"
    if "baseDomain" in keys or {"platform", "networking"} <= keys:
        return "an install-config", "Give it with --install-config FILE"
    if "network" in keys and not keys & STATE_KEYS:
        inner = document.get("network")
        if isinstance(inner, Block) and any(inner.get(key) for key in ("version", "renderer", "ethernets", "config")):
            return "a netplan or cloud-init network configuration", "Write it as an NMState document"
    if "network_config" in keys:
        return "a configuration of os-net-config", "Write it as an NMState document"
    return None


_BY_NAME = (
    (
        r"(?:ifcfg|route6?|rule6?|keys)-.+",
        Rule.OTHER_TOOL,
        ("this is an ifcfg file", "Write it as an NMState document"),
    ),
    (r".+\.nmconnection", Rule.OTHER_TOOL, _IS_KEYFILE),
    (
        r".+\.(?:bu|butane|ign|fcc)",
        Rule.OTHER_TOOL,
        (
            "this is a Butane or Ignition configuration",
            "Move it out of the folder; `nodenetctl day-one ignition` makes one from node files",
        ),
    ),
    (r".+\.(?:network|netdev|link)", Rule.OTHER_TOOL, _IS_NETWORKD),
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
