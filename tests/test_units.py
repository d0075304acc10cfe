"""Do systemd, D-Bus and journald accept the files in units/? Their own tools read them here."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from nodenet.cli.adoption.gather import IN_CHARGE
from nodenet.cli.main import VERBS
from nodenet.core.adoption.former_chain import CONFIGURING, MARKER
from nodenet.core.boot.stages import new_boot
from nodenet.core.change.record import PATH
from nodenet.core.hosted_services import model
from nodenet.core.hosted_services.dnsmasq import BUS_NAME
from nodenet.core.hosted_services.model import COMPANION_NAME as COMPANION
from nodenet.core.hosted_services.model import Service
from nodenet.core.messages import Message
from nodenet.core.node_ip import published_files
from nodenet.core.persistent_ips import bus as ipam_bus
from nodenet.core.status.bus_interfaces import MANAGER, NAME, STAGE
from nodenet.core.status.document import BootStatus, document

UNITS = Path(__file__).parents[1] / "units"
METRICS_DIRECTORIES = "-/var/lib/node_exporter -/var/lib/prometheus/node-exporter -/var/node_exporter"
"""Usual values of metrics_dir, where they exist."""
COMPAT = sorted(UNITS.glob("compat/*.service"))
SERVICES = [*sorted(UNITS.glob("*.service")), *COMPAT]
OLD_NAMES = {
    # what MachineConfigs and operators order themselves after → the stage that does it now
    "node-valid-hostname.service": "hostname",
    "nmstate-configuration.service": "nmstate",
    "on-prem-resolv-prepender.service": "resolv-prepender",
    "nodeip-configuration.service": "nodeip",
    "wait-for-node-ip.service": "nodeip",
    "ovs-configuration.service": "configure-ovs",
}
FOLLOWER = """[Unit]
After={names}
Before=kubelet-dependencies.target network-online.target crio.service kubelet.service
Requires={names}
[Service]
ExecStart=/bin/sh
"""
PROGRAMS = {
    "/usr/libexec/nodenetd",
    "/usr/libexec/nodenet-hosted",
    "/usr/libexec/nodenet-ipam",
    "/usr/libexec/nodenet/cni/install-plugin",
    "/usr/libexec/nodenet/undo-keyfiles",
    "/usr/bin/nodenetctl",
    "/usr/sbin/dnsmasq",
    "/usr/sbin/keepalived",
    "/usr/sbin/haproxy",
    "/usr/sbin/ip",
    "/bin/sh",
    "/bin/kill",
}
"""What units run."""
HOSTED = {"nodenet-hosted": 25, "nodenet-dnsmasq": 30, "nodenet-keepalived": 30, "nodenet-haproxy": 30}
"""The units of hosted services, and ten times the exposure that `systemd-analyze security` may find at most."""
CATALOG = UNITS / "nodenet.catalog"
STANDARD_TARGETS = ("sysinit", "basic", "shutdown", "multi-user", "network-online", "kubelet-dependencies")
ERRORS = ("_INVALID", "_FAILED", "_MISSING", "_REFUSED")
FIELDS = {"MESSAGE", "STAGE", "CAUSE", "REMEDY", "NODE_FILE", "DIGEST"}
"""What the log calls give; others would be shown as nothing."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A root file system with the units, the targets they are ordered against, and programs with the right names."""
    system = tmp_path / "usr/lib/systemd/system"
    system.mkdir(parents=True)
    for target in STANDARD_TARGETS:
        (system / f"{target}.target").write_text(f"[Unit]\nDescription={target}\n")
    for unit in (*SERVICES, UNITS / "compat/nodenet-compat.target"):
        shutil.copy(unit, system)
    for program in sorted(PROGRAMS):
        path = tmp_path / program.removeprefix("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return tmp_path


def verify(tree: Path) -> str:
    names = [unit.name.replace("@.", "@nmstate.") for unit in SERVICES]
    command = ["systemd-analyze", f"--root={tree}", "--man=no", "--recursive-errors=no", "verify", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.stderr or done.returncode else ""


def has_cycle(tree: Path, *names: str) -> bool:
    """Whether starting these units is impossible; systemd 252 says so by its exit code alone, and unit by unit."""
    command = ["systemd-analyze", f"--root={tree}", "--man=no", "verify"]
    return any(subprocess.run([*command, name], capture_output=True, check=False).returncode for name in names)


def test_systemd_accepts_every_unit(tree: Path) -> None:
    assert verify(tree) == ""


def test_systemd_would_complain(tree: Path) -> None:
    """The check above can fail: an unknown directive and a missing program are seen."""
    unit = tree / "usr/lib/systemd/system/nodenetd.service"
    unit.write_text(unit.read_text().replace("OOMPolicy=", "OomPolicy=").replace("libexec/nodenetd", "libexec/gone"))
    told = verify(tree)
    assert "OomPolicy" in told
    assert "libexec/gone" in told


STARTED = ("kubelet.service", "follower.service", "nodenetd.service", "multi-user.target")


def follow_the_old_names(tree: Path) -> None:
    """Add kubelet and a unit between the old names and kubelet, as MachineConfigs do."""
    system = tree / "usr/lib/systemd/system"
    (system / "follower.service").write_text(FOLLOWER.format(names=" ".join(OLD_NAMES)))
    gated = "[Unit]\nRequires=nodenet-ready.service follower.service\nAfter=nodenet-ready.service follower.service\n"
    (system / "kubelet.service").write_text(gated + "[Service]\nExecStart=/bin/sh\n")


def enable(tree: Path, *units: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", f"--root={tree}", "enable", *units]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_old_names_make_no_ordering_cycle(tree: Path) -> None:
    """Enabled beside the daemon and its gate, with a unit between all of them and kubelet."""
    follow_the_old_names(tree)
    done = enable(tree, "nodenetd.service", "nodenet-compat.target")
    assert done.returncode == 0, done.stderr
    assert verify(tree) == ""
    assert not has_cycle(tree, *STARTED)


def test_without_the_old_names_nothing_changes(tree: Path) -> None:
    """Not enabled, they are not there: who is ordered after them is not held."""
    follow_the_old_names(tree)
    (tree / "usr/lib/systemd/system/follower.service").write_text(
        FOLLOWER.format(names=" ".join(OLD_NAMES)).replace("Requires=", "Wants=")
    )
    assert enable(tree, "nodenetd.service").returncode == 0
    assert not has_cycle(tree, *STARTED)
    assert not list((tree / "etc/systemd/system").rglob("nodenet-compat*"))


def test_a_cycle_would_be_seen(tree: Path) -> None:
    """The two checks above can fail."""
    follow_the_old_names(tree)
    unit = tree / "usr/lib/systemd/system/nodenet-compat-ovs-configuration.service"
    unit.write_text(unit.read_text().replace("[Unit]\n", "[Unit]\nAfter=kubelet.service\n"))
    enable(tree, "nodenetd.service", "nodenet-compat.target")
    assert has_cycle(tree, *STARTED)


def test_an_old_name_never_replaces_the_real_unit(tree: Path) -> None:
    """It is an alias, and systemd makes none over a file; the others are made all the same."""
    real = tree / "etc/systemd/system/nodeip-configuration.service"
    real.parent.mkdir(parents=True)
    real.write_text("[Service]\nExecStart=/bin/sh\n")
    done = enable(tree, "nodenet-compat.target")
    assert done.returncode != 0
    assert str(real) in done.stderr
    assert not real.is_symlink()
    for name in OLD_NAMES.keys() - {real.name}:
        assert (real.parent / name).is_symlink()


def test_each_old_name_waits_for_its_stage() -> None:
    """In no other order than its stage's: what it would be before or after, nodenetd might wait for."""
    told = {}
    for path in COMPAT:
        unit = Unit(path)
        told[unit["Install"]["Alias"]] = unit["Service"]["ExecStart"]
        assert path.name == f"nodenet-compat-{unit['Install']['Alias']}"
        assert unit["Unit"]["ConditionPathIsSymbolicLink"] == f"/etc/systemd/system/{unit['Install']['Alias']}"
        assert {"After", "Before", "Requires"}.isdisjoint(unit["Unit"])
        assert unit["Service"]["RemainAfterExit"] == "yes"
    assert told == {name: f"/usr/bin/nodenetctl wait {stage} --as {name}" for name, stage in OLD_NAMES.items()}
    also = Unit(UNITS / "compat/nodenet-compat.target")["Install"]["Also"].split()
    assert sorted(also) == [path.name for path in COMPAT]


def test_the_daemon_is_hardened() -> None:
    """Systemd 252 rates it 2.9; above 3.0 the command fails."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager"]
    done = subprocess.run([*command, UNITS / "nodenetd.service"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]


@pytest.mark.parametrize(("unit", "most"), HOSTED.items())
def test_hosted_services_are_hardened(unit: str, most: int) -> None:
    """Each has its own user but the companion, no shell, no more capabilities than it needs, and is killed late."""
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={most}", "--no-pager"]
    done = subprocess.run([*command, UNITS / f"{unit}.service"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]
    service = Unit(UNITS / f"{unit}.service")["Service"]
    assert service.get("User") == (None if unit == "nodenet-hosted" else unit)
    assert (
        service["CapabilityBoundingSet"].split()
        == {
            "nodenet-hosted": ["CAP_NET_ADMIN", "CAP_NET_RAW"],
            "nodenet-dnsmasq": ["CAP_NET_BIND_SERVICE", "CAP_NET_RAW"],
            "nodenet-keepalived": ["CAP_NET_ADMIN", "CAP_NET_RAW"],
            "nodenet-haproxy": [],
        }[unit]
    )
    assert int(service["OOMScoreAdjust"]) < 0
    assert service["Restart"] in ("always", "on-failure")
    assert all("sh" not in Path(words[0]).name for name, words in commands() if name == f"{unit}.service")


def test_persistent_ips_are_hardened() -> None:
    """No capability, no shell, and the socket's directory, the store and metrics are all that it writes."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager"]
    path = UNITS / "nodenet-ipam.service"
    done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]
    service = Unit(path)["Service"]
    assert service["CapabilityBoundingSet"] == ""
    assert service["ReadWritePaths"] == METRICS_DIRECTORIES
    assert (service["RuntimeDirectory"], service["StateDirectory"]) == ("nodenet", "nodenet")
    # A sandbox whose network namespace it cannot see would be taken for one that has ended.
    assert service["ProtectHome"] == "read-only"
    assert {"PrivateTmp", "ProtectProc", "ProcSubset"}.isdisjoint(service)
    assert {"containerd.service", "crio.service"} <= set(Unit(path)["Unit"]["Before"].split())


def test_no_hosted_service_starts_by_itself() -> None:
    """A node on which hosted services are off, or of another platform, runs none of them."""
    for unit in HOSTED:
        assert not Unit(UNITS / f"{unit}.service").has_section("Install")


def test_the_files_that_units_read_are_those_of_the_plan() -> None:
    told = {name: " ".join(words) for name, words in commands() if "--batch" not in words and "kill" not in words[0]}
    for service, unit in model.UNITS.items():
        assert str(model.TEXTS[service]) in told[unit] or service is Service.KEEPALIVED, unit
        assert Unit(UNITS / unit)["Unit"]["ConditionPathExists"] == str(model.TEXTS[service])
    assert f"-batch {model.RELEASE}" in Unit(UNITS / "nodenet-keepalived.service")["Service"]["ExecStopPost"]
    assert (UNITS / model.COMPANION).exists()


class Unit(ConfigParser):
    """A unit file; a key that is given several times keeps every value."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False, interpolation=None, comment_prefixes=("#",), delimiters=("=",))
        self.optionxform = str  # type: ignore[assignment]
        seen: dict[tuple[str, str], str] = {}
        section = ""
        for line in path.read_text().replace("\\\n", " ").splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif "=" in line and not line.startswith("#"):
                key, value = line.split("=", 1)
                seen[section, key] = f"{seen.get((section, key), '')} {value}".strip()
        for (name, key), value in seen.items():
            if not self.has_section(name):
                self.add_section(name)
            self.set(name, key, value)


def commands() -> Iterator[tuple[str, list[str]]]:
    for path in SERVICES:
        for key, value in Unit(path)["Service"].items():
            if key.startswith("Exec"):
                yield path.name, shlex.split(value.lstrip("-+"))


def test_units_run_programs_and_verbs_that_exist() -> None:
    verbs = [words[1] for _, words in commands() if words[0] == "/usr/bin/nodenetctl"]
    assert set(verbs) == {"reload", "wait"}
    assert set(verbs) <= set(VERBS)
    assert {words[0] for _, words in commands()} == PROGRAMS


def test_ready_means_ready_on_every_systemd() -> None:
    """Systemd 252 takes an unknown Type= for simple: kubelet would not wait."""
    service = Unit(UNITS / "nodenetd.service")["Service"]
    assert (service["Type"], service["NotifyAccess"], service["RestartPreventExitStatus"]) == ("notify", "main", "78")


def test_nobody_requires_the_daemon_itself() -> None:
    """Systemd would restart kubelet with it, and never start kubelet after a first start that failed."""
    for path in SERVICES:
        unit = Unit(path)
        assert "nodenetd.service" not in unit["Unit"].get("Requires", "")
    assert "RequiredBy" not in Unit(UNITS / "nodenetd.service")["Install"]
    assert "nodenet-ready.service" in Unit(UNITS / "nodenetd.service")["Install"]["Also"]


def test_the_gate_holds_whatever_must_wait() -> None:
    gate = Unit(UNITS / "nodenet-ready.service")
    held = {"kubelet-dependencies.target", "crio.service", *published_files.UNITS}
    assert set(gate["Install"]["RequiredBy"].split()) == held
    assert held <= set(gate["Unit"]["Before"].split())
    assert gate["Unit"]["After"] == gate["Unit"]["Wants"] == "nodenetd.service"
    assert gate["Service"]["RemainAfterExit"] == "yes"


def command(unit: str, key: str) -> str:
    """Return the script that a unit gives to the shell, as the shell gets it."""
    words = shlex.split(Unit(UNITS / unit)["Service"][key].removeprefix("+").replace("\\\\", "\\"))
    assert words[:2] == ["/bin/sh", "-c"]
    return words[2].replace("$$", "$")


ANSWER = "ExecCondition={{ path=/bin/sh ; argv[]=/bin/sh -c /usr/libexec/nodenet/former-chain ; pid=7 ; {} }}"
SKIPPED = "Result=exec-condition"
RESULTS = {
    "Result=success": False,
    f"{SKIPPED}\n{ANSWER.format('code=exited ; status=3')}": True,
    f"{SKIPPED}\n{ANSWER.format('code=exited ; status=0')}\nExecCondition={{ code=exited ; status=1 }}": True,
    f"{SKIPPED}\nExecCondition={{ path=/bin/false ; code=exited ; status=1 }}": True,
    f"{SKIPPED}\n{ANSWER.format('code=exited ; status=203')}": False,
    f"{SKIPPED}\n{ANSWER.format('code=(null) ; status=0/0')}": False,
    f"{SKIPPED}\n{ANSWER.format('code=exited ; status=2')}\nExecCondition={{ code=(null) ; status=0/0 }}": False,
}
"""What systemd shows of nodenetd → whether it is skipped on purpose. Without memory, a condition cannot be run."""


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize(("ready", "active"), [(True, False), (False, False), (False, True)])
def test_the_gate_opens_when_the_state_file_or_systemd_says_so(
    tmp_path: Path,
    ready: bool,  # noqa: FBT001
    active: bool,  # noqa: FBT001
    result: str,
) -> None:
    """The file may be missing where /run is full (R16). A nodenetd that is skipped holds nothing.

    systemd also skips it where its condition could not be run, and does not try again: the gate starts it again.
    """
    state = tmp_path / "state.json"
    status = BootStatus(new_boot({}, degrade=True), ready=ready)
    state.write_text(json.dumps(document(status), indent=1))
    script = command("nodenet-ready.service", "ExecStart")
    script = script.replace("/run/nodenet/state.json", str(state)).replace("sleep 1", "exit 75")
    shown = f"show) cat <<'END'\n{result}\nEND\n;; is-active) return {int(not active)} ;; start) echo $* ;;"
    script = f"systemctl() {{ case $1 in {shown} esac; }}\n{script}"
    is_open = ready or active or RESULTS[result]
    done = subprocess.run(["/bin/sh", "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0 if is_open else 75, "")
    again = "start --no-block nodenetd.service" in done.stdout.splitlines()
    assert again is (not is_open and SKIPPED in result)
    assert again is ("It is not known why systemd skipped nodenetd.service. Starting it again.\n" in done.stdout)


def starts(root: Path, answer: int | None, *, enabled: bool = False) -> bool:
    """Return whether the condition of nodenetd.service holds below *root*; *answer* is that of the program, if any.

    *enabled*: what `systemctl is-enabled` says of the former chain.
    """
    script = command("nodenetd.service", "ExecCondition")
    for place in ("/etc/nodenet", "/usr/lib/systemd"):
        script = script.replace(place, f"{root}{place}")
    script = script.replace("/usr/libexec", f"{root}/usr/libexec")
    script = script.replace("in /etc /run /usr/lib;", f"in {root}/etc {root}/run {root}/usr/lib;")
    program = root / "usr/libexec/nodenet/former-chain"
    program.parent.mkdir(parents=True, exist_ok=True)
    if answer is not None:
        program.write_text(f"#!/bin/sh\ntouch {root}/asked\nexit {answer}\n")
        program.chmod(0o755)
    script = f"systemctl() {{ return {int(not enabled)}; }}; {script}"
    done = subprocess.run(["/bin/sh", "-c", script], check=False, capture_output=True)
    assert done.returncode in (0, IN_CHARGE), done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("place", ["etc", "run", "usr/lib"])
@pytest.mark.parametrize("name", sorted({unit.rpartition(".")[0] for unit in CONFIGURING}))
def test_nodenetd_is_skipped_where_the_former_chain_configures_the_node(tmp_path: Path, place: str, name: str) -> None:
    """Until the node is adopted. An answer that is none, such as a traceback, keeps no node from its network."""
    unit = tmp_path / place / f"systemd/system/{name}.service"
    unit.parent.mkdir(parents=True)
    assert starts(tmp_path, IN_CHARGE)
    assert not (tmp_path / "asked").exists(), "no program is started for a node without the chain"
    unit.touch()
    assert not starts(tmp_path, IN_CHARGE)
    assert [starts(tmp_path, answer) for answer in (0, 1, 78, 127)] == [True] * 4
    (tmp_path / "usr/libexec/nodenet/former-chain").unlink()
    assert starts(tmp_path, None)
    assert not starts(tmp_path, None, enabled=True), "nodenet is not there, such as an extension that is not merged"
    (tmp_path / MARKER.relative_to("/").parent).mkdir(parents=True)
    (tmp_path / MARKER.relative_to("/")).touch()
    assert starts(tmp_path, IN_CHARGE)


@pytest.mark.parametrize("place", ["usr/lib", "etc"])
def test_an_alias_of_nodenet_is_no_unit_of_the_former_chain(tmp_path: Path, place: str) -> None:
    """`systemctl enable nodenet-compat.target` makes links with these names: no program is started for them.

    `nodenet-sysext` copies the units to /etc, where systemd finds them first.
    """
    for name in ("nodeip-configuration", "ovs-configuration"):
        own = tmp_path / place / f"systemd/system/nodenet-compat-{name}.service"
        link = tmp_path / f"etc/systemd/system/{name}.service"
        for path in (own, link):
            path.parent.mkdir(parents=True, exist_ok=True)
        own.touch()
        link.symlink_to(own)
    assert starts(tmp_path, IN_CHARGE)
    assert not (tmp_path / "asked").exists()


def entries() -> dict[str, tuple[dict[str, str], str]]:
    """The catalog: id → (headers, body)."""
    found = {}
    for part in re.split(r"^-- ", CATALOG.read_text(), flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n\n")
        number, *headers = head.splitlines()
        assert number not in found
        found[number] = (dict(header.split(": ", 1) for header in headers), body.strip())
    return found


@pytest.mark.parametrize("message", Message, ids=lambda message: message.name)
def test_an_explanation_is_complete(message: Message) -> None:
    headers, body = entries()[message.value]
    assert headers["Subject"]
    assert headers["Defined-By"] == "nodenet"
    assert body
    assert set(re.findall(r"@(\w+)@", headers["Subject"] + body)) <= FIELDS
    assert [line for line in body.splitlines() if len(line) > 100] == []
    if message.name.endswith(ERRORS):
        assert "To do" in body


def test_the_catalog_names_no_program_that_a_node_may_lack() -> None:
    """With the packages a node needs no Python; libnmstate is not where the node's own would look for it."""
    named = {number for number, (_, body) in entries().items() if re.search(r"\b(python3?|fuser|lsof|dig)\b", body)}
    assert named == set()


def test_journald_reads_the_catalog(tmp_path: Path) -> None:
    catalog = tmp_path / "usr/lib/systemd/catalog"
    catalog.mkdir(parents=True)
    (tmp_path / "var/lib/systemd/catalog").mkdir(parents=True)
    shutil.copy(CATALOG, catalog)
    done = subprocess.run(
        ["journalctl", f"--root={tmp_path}", "--update-catalog"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    database = (tmp_path / "var/lib/systemd/catalog/database").read_bytes()
    missing = [message.name for message in Message if bytes.fromhex(message.value) not in database]
    assert missing == []


def allowed(context: dict[str, str]) -> list[dict[str, str]]:
    root = ET.parse(UNITS / "dbus/org.nodenet1.conf").getroot()  # noqa: S314 - our own file
    (policy,) = (policy for policy in root.findall("policy") if policy.attrib == context)
    denied = [{"send_destination": NAME}] if context == {"context": "default"} else []
    assert [rule.attrib for rule in policy.findall("deny")] == denied
    rules = list(policy)
    assert all(rule.tag == "allow" for rule in rules[len(denied) :])  # the last rule that matches is the one that holds
    return [rule.attrib for rule in policy.findall("allow")]


def test_root_owns_the_name_and_may_do_everything() -> None:
    assert allowed({"user": "root"}) == [{"own": NAME}, {"send_destination": NAME}]


def test_everybody_may_look_and_nobody_else_may_change() -> None:
    """The bus refuses everything else: other calls, signals, descriptors."""
    rules = allowed({"context": "default"})
    for rule in rules:
        assert (rule["send_destination"], rule["send_type"], rule["max_fds"]) == (NAME, "method_call", "0")
    for interface in (MANAGER, STAGE):
        ours = {rule["send_member"] for rule in rules if rule["send_interface"] == interface.name}
        assert ours == set(interface.methods) - interface.mutators
    properties = {rule["send_member"] for rule in rules if rule["send_interface"].endswith(".Properties")}
    assert properties == {"Get", "GetAll"}


def hosted_rules(context: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    root = ET.parse(UNITS / "dbus/org.nodenet1.Hosted.conf").getroot()  # noqa: S314 - our own file
    (policy,) = (policy for policy in root.findall("policy") if policy.attrib == context)
    return [(rule.tag, rule.attrib) for rule in policy]


def test_everybody_may_look_at_hosted_services_and_only_root_may_steer_them() -> None:
    """The same rules as nodenetd's, and none at all for dnsmasq: its methods choose where names lead."""
    ours = [("allow", {**rule, "send_destination": COMPANION}) for rule in allowed({"context": "default"})]
    ours = [(tag, {k: v.replace(MANAGER.name, COMPANION) for k, v in rule.items()}) for tag, rule in ours]
    denied = [("deny", {"send_destination": name}) for name in (BUS_NAME, COMPANION)]
    assert hosted_rules({"context": "default"}) == denied + ours
    assert ("allow", {"own": COMPANION}) in hosted_rules({"user": "root"})
    assert ("allow", {"send_destination": BUS_NAME}) in hosted_rules({"user": "root"})


def test_everybody_may_look_at_persistent_ips_and_only_root_may_check_them() -> None:
    root = ET.parse(UNITS / "dbus/org.nodenet1.Ipam.conf").getroot()  # noqa: S314 - our own file
    policies = {str(policy.attrib): [(rule.tag, rule.attrib) for rule in policy] for policy in root.findall("policy")}
    assert policies.pop(str({"user": "root"})) == [
        ("allow", {"own": ipam_bus.NAME}),
        ("allow", {"send_destination": ipam_bus.NAME}),
    ]
    (rules,) = policies.values()
    assert rules[0] == ("deny", {"send_destination": ipam_bus.NAME})
    for tag, rule in rules[1:]:
        assert (tag, rule["send_destination"], rule["send_type"], rule["max_fds"]) == (
            *("allow", ipam_bus.NAME, "method_call", "0"),
        )
    ours = {rule["send_member"] for _, rule in rules[1:] if rule["send_interface"] == ipam_bus.IPAM.name}
    assert ours == set(ipam_bus.IPAM.methods) - ipam_bus.IPAM.mutators
    properties = {rule["send_member"] for _, rule in rules[1:] if rule["send_interface"].endswith(".Properties")}
    assert properties == {"Get", "GetAll"}


def test_the_users_of_the_policy_are_made(tmp_path: Path) -> None:
    """Dnsmasq may own one name; the bus ignores rules for users that do not exist. The others are not on it."""
    owners = ("nodenet-dnsmasq", "nodenet-keepalived", "nodenet-haproxy")
    assert hosted_rules({"user": "nodenet-dnsmasq"}) == [("allow", {"own": BUS_NAME})]
    assert "org.keepalived.Vrrp1" not in (UNITS / "dbus/org.nodenet1.Hosted.conf").read_text()
    lines = [line.split()[:3] for line in (UNITS / "nodenet.sysusers.conf").read_text().splitlines() if line[0] != "#"]
    assert lines == [["u", user, "-"] for user in owners]
    (tmp_path / "etc").mkdir()
    command = ["systemd-sysusers", f"--root={tmp_path}", "-"]
    subprocess.run(command, input=(UNITS / "nodenet.sysusers.conf").read_text(), check=True, text=True)
    assert {line.split(":")[0] for line in (tmp_path / "etc/passwd").read_text().splitlines()} == set(owners)


def test_tmpfiles_makes_the_directories(tmp_path: Path) -> None:
    command = ["systemd-tmpfiles", f"--root={tmp_path}", "--create", str(UNITS / "nodenet.tmpfiles.conf")]
    subprocess.run(command, check=True, capture_output=True)
    made = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    wanted = {"run/nodenet": 0o755, "run/nodeip-configuration": 0o755, "var/lib/nodenet": 0o700}
    assert {path: made[path] for path in wanted} == wanted


def test_the_preset_enables_units_that_exist_and_no_old_name(tree: Path) -> None:
    """On a system that enables whatever is installed, too."""
    lines = [line.split() for line in (UNITS / "nodenet.preset").read_text().splitlines() if line[0] != "#"]
    assert lines[:2] == [["enable", "nodenetd.service"], ["enable", "nodenet-ready.service"]]
    assert all((UNITS / unit).exists() for _, unit in lines[:2])
    presets = tree / "usr/lib/systemd/system-preset"
    presets.mkdir(parents=True)
    shutil.copy(UNITS / "nodenet.preset", presets / "80-nodenet.preset")
    (presets / "90-systemd.preset").write_text("enable *\n")
    subprocess.run(["systemctl", f"--root={tree}", "preset-all"], capture_output=True, check=True)
    wanted = {path.name for path in (tree / "etc/systemd/system").rglob("*") if path.is_symlink()}
    assert wanted == {"nodenetd.service", "nodenet-ready.service"}


def test_an_interrupted_change_is_undone_before_networkmanager_and_only_once_a_boot() -> None:
    unit = Unit(UNITS / "nodenet-undo.service")
    assert unit["Unit"]["Before"] == "NetworkManager.service"
    assert unit["Unit"]["ConditionPathExists"] == str(PATH)
    assert (unit["Service"]["Type"], unit["Service"]["RemainAfterExit"]) == ("oneshot", "yes")
    assert "nodenet-undo.service" in Unit(UNITS / "nodenetd.service")["Unit"]["Wants"].split()
