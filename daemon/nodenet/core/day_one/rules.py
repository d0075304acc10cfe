"""Which rules does `nodenetctl day-one check` hold node files, install-config and hosts to?

Each rule has a name, which findings carry and docs/day-one-rules.md explains; the examples are
in ``fixtures/day_one/rules``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from nodenet.core.node_file.finding import Finding, Severity, shown
from nodenet.core.node_file.yaml_text import Misread, Node, Scalar
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
