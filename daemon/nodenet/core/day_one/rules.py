"""Which rules does `nodenetctl day-one check` hold node files, install-config and hosts to?

Each rule has a name, which findings carry and docs/day-one-rules.md explains; the examples are
in ``fixtures/day_one/rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from nodenet.core.node_file.finding import Finding, Severity, printable, shown
from nodenet.core.node_file.secret import is_secret
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar
from nodenet.core.value import frozen

ERROR, WARNING = Severity.ERROR, Severity.WARNING


class Group(Enum):
    """What a rule is about: a heading of the page."""

    READING = "Reading the files"
    DOCUMENT = "The document of a node file"
    FIRST_STEP = "The first step: keyfiles, install-config, Secret"
    SECOND_STEP = "The second step: br-ex on the running node"
    FOLDER = "Between the node files of a folder"
    HOSTS = "install-config and hosts"
    MANIFESTS = "MachineConfigs and Secrets"


class Rule(Enum):
    """Name, severity and group of each rule."""

    OTHER_TOOL = ("other-tool", ERROR, Group.READING)
    TEMPLATE = ("template-not-rendered", ERROR, Group.READING)
    NOT_TEXT = ("not-text", ERROR, Group.READING)
    NOT_YAML = ("not-yaml", ERROR, Group.READING)
    KEY_TWICE = ("key-twice", ERROR, Group.READING)
    TOO_LARGE = ("too-large", ERROR, Group.READING)
    UNREADABLE = ("unreadable", ERROR, Group.READING)
    CHANGED = ("changed-while-read", ERROR, Group.READING)
    NO_DOCUMENT = ("no-document", ERROR, Group.READING)
    NMSTATE_KEY = ("nmstate-key", ERROR, Group.DOCUMENT)
    NMSTATE_VALUE = ("nmstate-value", ERROR, Group.DOCUMENT)
    NMSTATE_REFUSED = ("nmstate-refused", ERROR, Group.DOCUMENT)
    NEXT_HOP = ("next-hop-outside-subnet", ERROR, Group.DOCUMENT)
    EQUAL_ROUTES = ("default-routes-equal", WARNING, Group.DOCUMENT)
    POLICY = ("policy", ERROR, Group.DOCUMENT)
    UNDEFINED = ("interface-undefined", ERROR, Group.DOCUMENT)
    STEP_HOSTNAME = ("first-step-hostname", ERROR, Group.FIRST_STEP)
    STEP_ABSENT = ("first-step-absent", ERROR, Group.FIRST_STEP)
    STEP_TYPE = ("first-step-type", ERROR, Group.FIRST_STEP)
    STEP_MAC = ("first-step-copy-mac-from", ERROR, Group.FIRST_STEP)
    STEP_OVS = ("first-step-open-vswitch", ERROR, Group.FIRST_STEP)
    STEP_FUNCTION = ("first-step-virtual-function", ERROR, Group.FIRST_STEP)
    STEP_NO_ADDRESS = ("first-step-no-address", WARNING, Group.FIRST_STEP)
    STEP_EMPTY = ("first-step-empty", ERROR, Group.FIRST_STEP)
    STEP_ASSUMED = ("first-step-assumption", WARNING, Group.FIRST_STEP)
    NO_ROUTE = ("no-default-route", WARNING, Group.FIRST_STEP)
    NO_DNS = ("no-dns-server", WARNING, Group.FIRST_STEP)
    KERNEL_NAME = ("kernel-order-name", WARNING, Group.FIRST_STEP)
    BRIDGE = ("br-ex-bridge", ERROR, Group.SECOND_STEP)
    BRIDGE_PORT = ("br-ex-port", ERROR, Group.SECOND_STEP)
    BRIDGE_INTERFACE = ("br-ex-interface", ERROR, Group.SECOND_STEP)
    BRIDGE_MAC = ("br-ex-mac", WARNING, Group.SECOND_STEP)
    BRIDGE_METRIC = ("br-ex-metric", WARNING, Group.SECOND_STEP)
    BRIDGE_UPLINK_IP = ("br-ex-uplink-address", ERROR, Group.SECOND_STEP)
    EXTENSION = ("extension", ERROR, Group.FOLDER)
    TWO_FILES = ("two-files-for-a-host", ERROR, Group.FOLDER)
    FILE_NAME = ("file-name", WARNING, Group.FOLDER)
    ADDRESS_TWICE = ("address-twice", ERROR, Group.FOLDER)
    CLUSTER_FILE = ("cluster-file-host-specific", ERROR, Group.FOLDER)
    EMPTY_FILE = ("empty-file", ERROR, Group.FOLDER)
    NO_FILE = ("host-without-file", WARNING, Group.HOSTS)
    NO_HOST = ("file-without-host", WARNING, Group.HOSTS)
    SHAPE = ("hosts-shape", ERROR, Group.HOSTS)
    HOST_TWICE = ("host-name-twice", ERROR, Group.HOSTS)
    MAC_TWICE = ("mac-twice", ERROR, Group.HOSTS)
    BAD_MAC = ("boot-mac", ERROR, Group.HOSTS)
    OUTSIDE = ("address-outside-machine-network", ERROR, Group.HOSTS)
    IS_VIP = ("address-is-vip", ERROR, Group.HOSTS)
    DIFFERS = ("network-config-differs", ERROR, Group.HOSTS)
    NETWORK_CONFIG = ("network-config-shape", ERROR, Group.HOSTS)
    MC_SIZE = ("machine-config-too-large", ERROR, Group.MANIFESTS)
    PATH_TWICE = ("path-in-two-machine-configs", ERROR, Group.MANIFESTS)
    MC_DIFFERS = ("machine-config-differs", ERROR, Group.MANIFESTS)
    SECRET_MISSING = ("secret-missing", WARNING, Group.MANIFESTS)
    SECRET_SHAPE = ("secret-shape", ERROR, Group.MANIFESTS)
    SECRET_DIFFERS = ("secret-differs", ERROR, Group.MANIFESTS)

    def __init__(self, word: str, severity: Severity, group: Group) -> None:
        """Keep the parts by name."""
        self.word = word
        self.severity = severity
        self.group = group

    def __reduce_ex__(self, _protocol: object) -> tuple[object, ...]:
        """Travel between processes by name."""
        return getattr, (Rule, self.name)


# What did a check find, where, and what is the remedy? One value for each finding; a report sorts and prints them.


@frozen
class Found:
    """One broken rule. *line* and *column* count from 1; 0 where the whole file is meant."""

    rule: Rule
    file: str
    cause: str
    remedy: str
    line: int = 0
    column: int = 0
    key: str = ""
    value: str | None = None
    """What is written there, as far as it may be shown."""

    @property
    def severity(self) -> Severity:
        """Whether the rule is an error or a warning."""
        return self.rule.severity

    def sentence(self) -> str:
        """Return key, value and cause in one line."""
        if not self.key:
            return self.cause
        return f"{self.key}{'' if self.value is None else f' = {self.value}'}: {self.cause}"


def at(rule: Rule, file: str, node: Node, key: str, said: tuple[str, str]) -> Found:
    """Return the finding at *node*: *said* is cause and remedy. A scalar is quoted: *key* must not be a secret's."""
    value = shown(node.text) if isinstance(node, Scalar) and node.text else None
    return Found(rule, file, *said, node.line, node.column, key, value)


def of(rule: Rule, file: str, findings: Iterable[Finding]) -> Iterator[Found]:
    """Yield the findings about one node file as findings of *rule*."""
    for each in findings:
        key = "" if each.names_its_key else each.key
        yield Found(rule, file, each.cause, each.remedy, each.line, each.column, key, each.value)


def misread(file: str, error: Misread) -> Found:
    """Return the finding for a text that cannot be read as YAML."""
    rule = Rule.TEMPLATE if "template" in error.words else Rule.NOT_YAML
    return Found(rule, file, error.words, error.remedy, error.line, error.column)


def ordered(findings: Iterable[Found]) -> list[Found]:
    """Return the findings by file and place, each once."""
    return sorted(dict.fromkeys(findings), key=lambda each: (each.file, each.line, each.column, each.rule.word))


# Is this a file of another tool, and what should the user do with it? Recognised by its content and by its name.

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


# How are the findings printed: for people and as JSON? A line of a file is quoted only if it cannot hold a secret.

LONGEST_LINE = 160
Lines = Callable[[str, int], str | None]
"""The text of one line of a file, None where it cannot be read any more."""
_KEY = re.compile(r"\s*(?:- +)*[\"']?(?P<key>[\w./<-]+)[\"']? *:(?: |$)")
_IN_URL = re.compile(r"//[^/\s@]*@")
_OPAQUE = frozenset({"data", "stringdata", "nmstate", "source", "sshkey", "additionaltrustbundle", "username"})
"""Keys whose values are long or private."""


def text(found: Sequence[Found], lines: Lines) -> str:
    """Return all findings for people: cause, place, the line itself, remedy."""
    return "\n".join(_one(each, lines) for each in found)


def _one(found: Found, lines: Lines) -> str:
    head = f"{found.severity.value}[{found.rule.word}]: {found.sentence()}"
    if not found.line:
        return printed([head, f"  --> {found.file}", f"   = {found.remedy}"])
    place = f"{found.file}:{found.line}" + (f":{found.column}" if found.column else "")
    number = str(found.line)
    margin = " " * (len(number) + 1)
    said = [head, f"{margin}--> {place}"]
    if quoted := quotable(lines(found.file, found.line), found.key):
        marked = quoted[found.column - 1 :]
        length = len(found.value or "")
        starts = next((begin for begin in (0, 1) if length and marked[begin:].startswith(found.value or "")), None)
        width = 1 if starts is None else length + 2 * starts
        said += [f"{margin} |", f"{number}  | {quoted}"]
        if 0 < found.column <= len(quoted):
            said.append(f"{margin} | {' ' * (found.column - 1)}{'^' * width}")
    return printed([*said, f"{margin} = {found.remedy}"])


def printed(lines: Iterable[str]) -> str:
    """Return lines as one text that controls no terminal, with a line end."""
    return "".join(f"{printable(line)}\n" for line in lines)


def quotable(line: str | None, key: str) -> str | None:
    """Return a line as it may be shown, None where it may hold a secret: only plain lines with a known key are."""
    if line is None or "\t" in line or len(line) > LONGEST_LINE or any(map(_is_hidden, re.split(r"[.\[\]]+", key))):
        return None
    found = _KEY.match(line)
    if found is None and not (key and line.lstrip().startswith("- ")):
        return None
    if "{" in line or (found is not None and _is_hidden(found["key"])):
        return None
    return _IN_URL.sub("//…@", line.rstrip("\r"))


def _is_hidden(key: str) -> bool:
    return bool(key) and (key.lower() in _OPAQUE or is_secret(key))


def summary(found: Sequence[Found], files: int) -> str:
    """Return the last line for people."""
    errors = sum(each.severity is Severity.ERROR for each in found)
    parts = [_times(errors, "error"), _times(len(found) - errors, "warning")]
    checked = f"{_times(files, 'file') or '0 files'} checked"
    return f"{checked}: {' and '.join(filter(None, parts)) or 'nothing found'}"


def _times(number: int, what: str) -> str:
    return "" if not number else f"1 {what}" if number == 1 else f"{number} {what}s"


def document(found: Sequence[Found], files: int) -> dict[str, Any]:
    """Return the JSON document; paths as they were given on the command line."""
    return {
        "schema_version": 1,
        "files": files,
        "errors": sum(each.severity is Severity.ERROR for each in found),
        "warnings": sum(each.severity is Severity.WARNING for each in found),
        "findings": [
            {
                "rule": each.rule.word,
                "severity": each.severity.value,
                "file": each.file,
                "line": each.line or None,
                "column": each.column or None,
                "key": each.key or None,
                "value": each.value,
                "cause": each.cause,
                "remedy": each.remedy,
            }
            for each in found
        ],
    }
