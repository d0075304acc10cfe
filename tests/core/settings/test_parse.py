"""Settings: what is taken, what is refused, and which file gets the blame."""

import subprocess
import sys
import tomllib
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.errors import SettingsInvalid
from nodenet.core.settings.model import (
    STAGES,
    Datapath,
    Enabled,
    HostedMode,
    HostedSettings,
    KubernetesSettings,
    OnFailure,
    ProbeTarget,
    RoleSetting,
    Settings,
    Written,
    values,
)
from nodenet.core.settings.parse import KEYS, PLATFORMS, Refused, meant, parse

MAIN = "/etc/nodenet/nodenet.toml"
DROP_IN = "/etc/nodenet/nodenet.toml.d/50-site.toml"
EXAMPLE = Path(__file__).parents[3] / "units/nodenet.toml"


def one(text: str) -> Settings:
    return parse([(MAIN, text.encode())]).settings


def refusal(text: str | bytes) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        parse([(MAIN, text.encode() if isinstance(text, str) else text)])
    assert caught.value.remedy
    return str(caught.value)


def test_no_file_means_the_defaults_and_says_so() -> None:
    result = parse([])
    assert result.settings == Settings()
    assert set(result.origins.values()) == {"default"}
    assert set(result.origins) == set(values(Settings()))


def test_no_file_costs_no_toml_parser() -> None:
    program = "import sys; from nodenet.core.settings import parse; parse.parse([]); sys.exit('tomllib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_every_key_is_understood() -> None:
    settings = one("""
        platform = "baremetal"
        network_type = "Calico"
        families = ["ipv6", "ipv4"]
        api_vips = ["192.0.2.10", "2001:db8::10"]
        ingress_vips = ["192.0.2.11"]
        user_managed_lb = true
        cluster_domain = "Cluster.Example.com."
        node_file_dir = "/etc//nodes/"
        on_failure = "wait"
        apply_timeout = 60
        probe_targets = [
          "192.0.2.1", "tcp://192.0.2.1:6443", "tcp://[2001:db8::1]:22623",
          "https://192.0.2.1", "https://[2001:db8::1]:6443/readyz?verbose",
        ]
        probe_timeout = 0
        good_after = 10
        quarantine_after = 3
        deny_links = ["docker*"]
        route_tables = ["main", 100]
        hint = "192.0.2.0/24"
        hint_required = true
        metrics_dir = "/var/lib/node_exporter/textfile/"
        [bridge]
        datapath = "netdev"
        [hosted]
        enabled = "yes"
        mode = "render"
        role = "worker"
        drain_seconds = 10
        advert_interval = 0.1
        api_port = 443
        lb_port = 9443
        worker_balancer = true
        ca_file = "/etc/ca.crt"
        [kubernetes]
        kubeconfig = "/etc/kubeconfig"
        node_name = "worker-0.example.com"
        [stages]
        nmstate = "skip"
        """)
    assert settings == Settings(
        platform="baremetal",
        network_type="Calico",
        families=("ipv6", "ipv4"),
        api_vips=(ip_address("192.0.2.10"), ip_address("2001:db8::10")),
        ingress_vips=(ip_address("192.0.2.11"),),
        user_managed_lb=True,
        cluster_domain="cluster.example.com",
        node_file_dir="/etc/nodes",
        on_failure=OnFailure.WAIT,
        apply_timeout=60,
        probe_targets=(
            ProbeTarget(ip_address("192.0.2.1")),
            ProbeTarget(ip_address("192.0.2.1"), 6443),
            ProbeTarget(ip_address("2001:db8::1"), 22623),
            ProbeTarget(ip_address("192.0.2.1"), 443, "/"),
            ProbeTarget(ip_address("2001:db8::1"), 6443, "/readyz?verbose"),
        ),
        probe_timeout=0,
        good_after=10,
        quarantine_after=3,
        deny_links=("docker*",),
        route_tables=("main", "100"),
        hint=Written("192.0.2.0/24", MAIN),
        hint_required=True,
        metrics_dir="/var/lib/node_exporter/textfile",
        bridge_datapath=Datapath.NETDEV,
        hosted=HostedSettings(
            *(Enabled.YES, HostedMode.RENDER, RoleSetting.WORKER),
            drain_seconds=10,
            advert_interval=0.1,
            api_port=443,
            lb_port=9443,
            worker_balancer=True,
            ca_file="/etc/ca.crt",
        ),
        kubernetes=KubernetesSettings("/etc/kubeconfig", "worker-0.example.com"),
        stages={**dict.fromkeys(STAGES, "builtin"), "nmstate": "skip"},
    )


def test_a_later_file_wins_key_by_key_and_is_named() -> None:
    result = parse([
        (MAIN, b'platform = "baremetal"\nhint = "eth0"\n[stages]\nnmstate = "skip"'),
        (DROP_IN, b'hint = "eth1"\n[stages]\nhostname = "skip"'),
    ])  # fmt: skip
    assert (result.settings.platform, result.settings.hint) == ("baremetal", Written("eth1", DROP_IN))
    assert result.settings.stages["nmstate"] == result.settings.stages["hostname"] == "skip"
    assert result.settings.hint.file == DROP_IN
    told = {key: result.origins[key] for key in ("platform", "hint", "stages.nmstate", "stages.hostname", "families")}
    assert told == {
        "platform": MAIN,
        "hint": DROP_IN,
        "stages.nmstate": MAIN,
        "stages.hostname": DROP_IN,
        "families": "default",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("platfrom = 'none'", ["'platfrom'", "(did you mean 'platform'?)"]),
        ("colour = 1", ["unknown key 'colour'", "the keys are: platform, "]),
        ("[bridge]\ndatapth = 'system'", ["'bridge.datapth'", "'bridge.datapath'"]),
        ("[stages]\nnodip = 'skip'", ["'stages.nodip'", "'stages.nodeip'"]),
        ("[brdige]\ndatapath = 'system'", ["unknown key 'brdige'"]),
        ("bridge = 'system'", ["bridge is a table", "[bridge]"]),
        ("platform = 'baremtal'", ["platform = 'baremtal'", "did you mean 'baremetal'?"]),
        ("platform = 3", ["platform = 3", "string in quotes"]),
        ("network_type = 'OvnKubernetes'", ["did you mean 'OVNKubernetes'?"]),
        ("families = 'ipv4'", ["families", '"auto" or a list']),
        ("families = []", ["at least one family"]),
        ("families = ['ipv4', 'ipv4']", ["every item once"]),
        ("families = ['ip4']", ["did you mean 'ipv4'?"]),
        ("api_vips = '192.0.2.10'", ["api_vips", "list of addresses"]),
        ("api_vips = ['192.0.2.10/24']", ["'192.0.2.10/24' is not an IP address"]),
        ("api_vips = ['fe80::1']", ["fe80::1 cannot be reached"]),
        ("ingress_vips = ['192.0.2.1', '192.0.2.2']", ["one address of each family"]),
        ("user_managed_lb = 'yes'", ["true or false, without quotes"]),
        ("hint_required = 1", ["true or false"]),
        ("cluster_domain = 'a..b'", ["DNS domain"]),
        ("node_file_dir = 'etc'", ["absolute path"]),
        ("node_file_dir = '/etc/../root'", ["absolute path"]),
        ("on_failure = 'degraded'", ["did you mean 'degrade'?"]),
        ("apply_timeout = 5", ["from 10 to 3600"]),
        ("apply_timeout = true", ["apply_timeout = true", "from 10 to 3600"]),
        ("[hosted]\nenabled = true", ["hosted.enabled = true", "string in quotes"]),
        ("[hosted]\nrole = 'master'", ["hosted.role = 'master'", "one of auto, control-plane, worker"]),
        ("[hosted]\nadvert_interval = 1.5", ["hosted.advert_interval = 1.5", "VRRPv2 has no fractions"]),
        ("[hosted]\nadvert_interval = 0.01", ["a number of seconds from 0.1 to 10"]),
        ("[hosted]\ndrain_seconds = 0", ["a whole number of seconds from 1 to 3600"]),
        ("[hosted]\nlb_port = 65536", ["a port from 1 to 65535"]),
        ("[hosted]\nca_file = '/etc/a b'", ["a path of letters, digits"]),
        ("[hosted]\ningress_health = 'http://192.0.2.1:80/x'", ["http://127.0.0.1:PORT/PATH"]),
        ("[hosted]\ningress_health = 'http://127.0.0.1:99999/x'", ["http://127.0.0.1:PORT/PATH"]),
        ("[hosted]\ncluster_dns = 'yes'", ["service", "root"]),
        ("[hosted]\nlb_port = 6443", ["hosted.lb_port and hosted.api_port are both 6443"]),
        ('[hosted]\nrecords = ["registry 192.0.2.1"]', ["names no full DNS name", "registry.example.com"]),
        ('[hosted]\nrecords = ["r.example.com 192.0.2.1/24"]', ["192.0.2.1/24", "is not an IP address"]),
        ('[hosted]\nupstreams = ["corp.example.com"]', ["is not a DNS name and an address"]),
        ('[hosted]\nupstreams = ["*.example.com 192.0.2.1"]', ["expected a DNS domain"]),
        ("[hosted]\nlb_port = 53", ["hosted.lb_port is 53, the port of DNS"]),
        ("[kubernetes]\nkubeconfig = 'kubeconfig'", ["kubernetes.kubeconfig", "absolute path"]),
        ("[kubernetes]\nnode_name = 'a b'", ["the name of a Node"]),
        ("[kubernetes]\nnodename = 'a'", ["'kubernetes.nodename'", "'kubernetes.node_name'"]),
        ("probe_targets = ['udp://192.0.2.1:53']", ["tcp://ADDRESS:PORT"]),
        ("probe_targets = ['tcp://192.0.2.1:66000']", ["tcp://ADDRESS:PORT"]),
        ("probe_targets = ['example.com']", ["'example.com' is not an IP address"]),
        ("probe_targets = ['tcp://192.0.2.1']", ["tcp://ADDRESS:PORT"]),
        ("probe_targets = ['tcp://192.0.2.1:6443/readyz']", ["tcp://ADDRESS:PORT"]),
        (
            "probe_targets = ['tcp://example.com:6443']",
            ["'example.com' is not an IP address"],
        ),
        ("probe_targets = ['https://api.example.com:6443/readyz']", ["'api.example.com' is not an IP address"]),
        ("probe_targets = ['https://root@192.0.2.1/']", ["'root@192.0.2.1' is not an IP address"]),
        ("probe_targets = ['https://192.0.2.1:0/']", ["https://ADDRESS:PORT/PATH"]),
        ("probe_targets = ['https://192.0.2.1/a b']", ["https://ADDRESS:PORT/PATH"]),
        ("probe_targets = ['https://192.0.2.1/a#b']", ["https://ADDRESS:PORT/PATH"]),
        ("probe_targets = ['https://192.0.2.1readyz']", ["is not an IP address"]),
        ("probe_targets = ['http://192.0.2.1/readyz']", ["https://ADDRESS:PORT/PATH"]),
        ("probe_targets = [6443]", ["probe_targets = [6443]", "string in quotes"]),
        ("probe_timeout = 31", ["from 0 to 30"]),
        ("good_after = 0", ["from 1 to 86400"]),
        ("quarantine_after = -1", ["from 0 to 100"]),
        ("deny_links = ['']", ["can match no link"]),
        ("route_tables = ['mein']", ["'mein' is no routing table"]),
        ("route_tables = [0]", ["0 is no routing table"]),
        ('hint = "a\\nb"', ["control characters"]),
        ("[stages]\nnodeip = 'skip'", ["stages.nodeip", "cannot be skipped", "guess"]),
        ("[stages]\nnmstate = 'unit:nmstate'", ["stages.nmstate", "'nmstate' is no service"]),
        ("[stages]\nnmstate = 'unit:../x.service'", ["is no service"]),
        ("[stages]\nnmstate = 'unit:nodenet-wait@nodeip.service'", ["waits for the stages"]),
        ("[stages]\nnmstate = 'units:a.service'", ["'unit:NAME'"]),
        ("[stages]\nnmstate = 'buildin'", ["did you mean 'builtin'?"]),
        ("hint = 'a\u009b31m'", ["control characters"]),
    ],
)
def test_bad_input_is_refused_with_file_key_and_expectation(text: str | bytes, told: list[str]) -> None:
    answer = refusal(text)
    assert answer.startswith(MAIN)
    assert [part for part in told if part not in answer] == []


@pytest.mark.parametrize(
    ("vip", "told"),
    [
        ("2001:db8::5%eth0", "2001:db8::5%eth0 has a scope; expected the address alone, '2001:db8::5'"),
        ("::ffff:192.0.2.5", "::ffff:c000:205 is an IPv4-mapped address; expected '192.0.2.5'"),
        ("255.255.255.255", "255.255.255.255 is not a unicast address"),
        ("0.0.0.1", "0.0.0.1 is not a unicast address"),
    ],
)
@pytest.mark.parametrize("key", ["api_vips", "ingress_vips", "probe_targets"])
def test_an_address_that_no_link_can_have_is_refused(key: str, vip: str, told: str) -> None:
    """It would equal no address of the kernel, so the VIP could become the node IP (R24)."""
    assert refusal(f'{key} = ["{vip}"]') == f"{MAIN}: {key} = ['{vip}']: {told}. Edit {MAIN}"


def test_the_network_type_has_no_default() -> None:
    """A node of another plugin must not get br-ex because Open vSwitch is installed (R67)."""
    assert one("").network_type == one("network_type = ''").network_type == ""


def test_a_long_value_is_shown_in_short() -> None:
    assert len(refusal(f"platform = '{'x' * 5000}'")) < 400


@given(st.binary(max_size=200))
def test_any_bytes_give_settings_or_a_refusal(content: bytes) -> None:
    try:
        parse([(MAIN, content)])
    except SettingsInvalid as refused:
        assert MAIN in refused.cause  # noqa: PT017 - both outcomes are fine, only others are not


def test_the_example_file_shows_every_default() -> None:
    """Uncommented, units/nodenet.toml sets every key to what it is anyway."""
    lines = EXAMPLE.read_text().splitlines()
    text = "\n".join(line.removeprefix("#") for line in lines if not line.startswith("# "))
    result = parse([(str(EXAMPLE), text.encode())])
    assert result.settings == Settings()
    assert "default" not in result.origins.values()
    assert set(tomllib.loads("\n".join(lines))) <= {"bridge", "hosted", "ipam", "kubernetes", "stages"}


# The keys of the settings files: one for every value, and nothing beside them.


def test_every_value_has_a_key_and_accepts_its_default() -> None:
    defaults = values(Settings())
    assert set(KEYS) == set(defaults)
    for key, default in defaults.items():
        KEYS[key](default)


def test_a_key_refuses_what_it_does_not_take() -> None:
    with pytest.raises(Refused, match="expected one of auto, yes, no"):
        KEYS["hosted.enabled"]("maybe")


def test_what_was_meant() -> None:
    assert meant("baremtal", PLATFORMS) == " (did you mean 'baremetal'?)"
    assert meant("zebra", PLATFORMS) == ""
