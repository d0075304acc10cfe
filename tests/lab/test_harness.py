"""Does the lab itself keep its promises? Real boots without the product."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Dhcp, Flavour, Ipv6, Lab, LabError, Lan, Node, host, install_product
from harness.product import Tree

NodeFactory = Callable[..., Node]

WITNESS = """
[Service]
ExecStart=/bin/sleep infinity
ExecStop=/bin/touch /var/lib/was-asked
[Install]
WantedBy=multi-user.target
"""
GATE = """
[Unit]
Before=kubelet-dependencies.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'while ! test -e /run/go; do sleep 0.1; done'
[Install]
RequiredBy=kubelet-dependencies.target
"""


def transient_name(node: Node) -> str:
    return node.run(["hostnamectl", "--transient"]).stdout.strip()


def test_a_node_boots_without_a_failed_unit(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.boot()
    assert node.wait_settled() == "running"
    assert node.run(["hostname"]).stdout == "worker-0\n"


def test_a_node_gets_addresses_by_dhcp_and_router_advertisement(bare_node: NodeFactory, lan: Lan) -> None:
    node = bare_node()
    node.boot()
    node.wait_settled()
    (address,) = node.addresses()
    assert address.startswith("10.88.0.1")
    node.wait_until("ip -6 address show dev eth0 scope global -tentative | grep fd88")
    node.run(["ping", "-c1", "-W5", str(lan.gateway4)])
    node.run(["ping", "-c1", "-W5", str(lan.gateway6)])
    assert node.path("/etc/resolv.conf").read_text().splitlines()[1:] == ["nameserver 10.88.0.1"]


def test_dhcpv6_gives_a_128_and_no_dhcpv4_gives_no_address(bare_node: NodeFactory, lan: Lan) -> None:
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=Ipv6.DHCP))
    node = bare_node()
    node.boot()
    node.wait_until("ip -6 address show dev eth0 scope global | grep fd88:.*/128")
    assert node.addresses() == []


@pytest.mark.parametrize("name", ["worker-7", "worker-7.cluster.example.com"])
def test_a_node_without_a_name_takes_it_from_dhcp(bare_node: NodeFactory, lan: Lan, name: str) -> None:
    node = bare_node(hostname=None)
    lan.start_dhcp(Dhcp(names={node.mac(): name}))
    node.boot()
    node.wait_until(f"test $(hostnamectl --transient) = {name}")
    assert node.run(["hostnamectl", "--static"]).stdout.strip() == ""
    assert node.run(["hostname"]).stdout.strip() == name


def test_a_late_dhcp_answer_brings_a_late_name(bare_node: NodeFactory, lan: Lan) -> None:
    node = bare_node(hostname=None)
    lan.start_dhcp(Dhcp(names={node.mac(): "worker-7"}, reply_delay=2))
    node.boot()
    node.wait_until("busctl --system status org.freedesktop.NetworkManager >/dev/null")
    assert transient_name(node) == "localhost"
    node.wait_until("test $(hostnamectl --transient) = worker-7")


def test_nobody_answers_while_dhcp_is_stopped(bare_node: NodeFactory, lan: Lan) -> None:
    lan.stop_dhcp()
    node = bare_node()
    node.boot()
    node.wait_until("nmcli -g GENERAL.STATE device show eth0 | grep connecting")
    assert node.addresses() == []
    lan.start_dhcp()
    node.wait_until("ip -4 address show dev eth0 | grep 10.88.0.")


def test_a_reserved_address_and_two_lans(bare_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    other = lab.lan("other", dhcp=Dhcp(router=False))
    node = bare_node(nics=[lan, other])
    lan.start_dhcp(Dhcp(addresses={node.mac(): lan.subnet4[42]}))
    node.boot()
    node.wait_until("ip -4 address show dev eth1 | grep 10.88.1.")
    node.wait_until("ip -4 address show dev eth0 | grep 10.88.0.42/24")
    assert "dev eth1" not in node.run("ip -4 route show default").stdout


def test_a_reboot_stops_units_and_keeps_the_disk(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.boot()
    node.wait_settled()
    node.run("echo kept > /var/lib/mark; touch /run/mark")
    first, mac = node.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout, node.mac()
    node.reboot()
    node.wait_settled()
    assert node.run(["cat", "/var/lib/mark", "/sys/class/net/eth0/address"]).stdout == f"kept\n{mac}\n"
    assert not node.path("/run/mark").exists()
    assert node.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout != first
    assert any("Stopped" in str(entry["MESSAGE"]) for entry in node.journal("NetworkManager", boot=-1))


def test_a_power_cut_asks_nobody_and_keeps_the_disk(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.write("/etc/systemd/system/witness.service", WITNESS)
    node.enable("witness.service")
    node.boot()
    node.wait_settled()
    node.run("echo kept > /var/lib/mark")
    node.power_cut()
    assert not node.is_on
    assert node.path("/var/lib/mark").read_text() == "kept\n"
    assert not node.path("/var/lib/was-asked").exists()
    node.boot()
    assert node.wait_settled() == "running"
    node.off()
    assert node.path("/var/lib/was-asked").exists()


@pytest.mark.parametrize("flavour", Flavour)
def test_the_stubs_record_what_they_see(bare_node: NodeFactory, flavour: Flavour) -> None:
    node = bare_node(flavour=flavour)
    drop_in = "[Service]\nEnvironment=CONTAINER_STREAM_ADDRESS=192.0.2.1\n"
    node.write("/etc/systemd/system/crio.service.d/20-test.conf", drop_in)
    node.boot()
    assert node.wait_settled() == "running"
    crio, kubelet = node.record("crio"), node.record("kubelet")
    assert crio.environment["CONTAINER_STREAM_ADDRESS"] == "192.0.2.1"
    assert crio.monotonic < kubelet.monotonic
    assert [crio.starts, kubelet.starts] == [1, 1]
    assert [entry["ifname"] for entry in kubelet.addresses] == ["lo", "eth0"]
    assert any(route["dst"] == "default" for route in kubelet.routes)
    assert "nameserver 10.88.0.1" in kubelet.resolv_conf
    assert "ovs_version" in kubelet.ovs


def test_kubelet_dependencies_hold_the_stubs_back(bare_node: NodeFactory) -> None:
    node = bare_node(flavour=Flavour.OPENSHIFT)
    node.write("/etc/systemd/system/gate.service", GATE)
    node.enable("gate.service")
    node.boot()
    node.wait_until("systemctl is-active network-online.target")
    assert not node.started("crio")
    node.run(["touch", "/run/go"])
    assert node.wait_settled() == "running"
    assert node.started("kubelet")


def test_a_delayed_unit_starts_late(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.delay_unit("NetworkManager.service", 2)
    node.boot()
    node.wait_until("test $(systemctl show -P SubState NetworkManager) = start-pre")
    assert node.wait_settled() == "running"


def test_open_vswitch_carries_the_nodes_traffic(bare_node: NodeFactory, lan: Lan) -> None:
    node = bare_node()
    node.boot()
    node.wait_settled()
    (before,) = node.addresses()
    script = Path(__file__).with_name("br-ex.sh").read_text()
    node.run(["/bin/sh", "-es"], stdin=script, timeout=60)
    node.wait_until(f"ip -4 address show dev br-ex | grep {before}/")
    node.run(["ping", "-c1", "-W5", str(lan.gateway4)])
    assert "Port eth0" in node.run(["ovs-vsctl", "show"]).stdout


def test_a_cable_can_be_pulled(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.boot()
    node.wait_settled()
    node.set_carrier("eth0", up=False)
    node.wait_until("grep -x 0 /sys/class/net/eth0/carrier")
    node.set_carrier("eth0", up=True)
    node.wait_until("grep -x 1 /sys/class/net/eth0/carrier")


def test_an_error_carries_console_and_journal(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.boot()
    node.wait_settled()
    with pytest.raises(LabError, match=r"(?s)exit code 3.*--- console of .*--- journal of .*systemd"):
        node.run("exit 3")
    with pytest.raises(LabError, match=r"still running after 0\.6 s"):
        node.run(["sleep", "5"], timeout=0.2)


def test_a_node_that_does_not_boot_says_why(bare_node: NodeFactory) -> None:
    node = bare_node()
    node.path("/usr/lib/systemd/systemd").unlink()
    for name in ("/usr/sbin/init", "/usr/bin/bash", "/usr/bin/sh"):
        node.path(name).unlink()
    with pytest.raises(LabError, match=r"(?s)went off.*--- console of worker-0.*(execv|No such file)"):
        node.boot()


def test_closing_a_lab_leaves_nothing_behind(lab_session: Lab) -> None:
    with Lab() as own:
        name = own.state.name
        node = own.node(nics=[own.lan()])
        node.boot()
        assert name != lab_session.state.name
        assert f"nodenet-{name}-worker-0" in netns()
    assert remains(name) == []


def test_the_next_lab_removes_a_killed_one(lab_session: Lab) -> None:
    program = (
        "import os, signal; from harness import Lab; lab = Lab(); lab.node(nics=[lab.lan()]).boot();"
        "print(lab.state.name, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    here = Path(__file__).parent
    killed = subprocess.run(["python3", "-c", program], cwd=here, capture_output=True, text=True, check=False)
    name = killed.stdout.strip()
    assert f"nodenet-{name}-worker-0" in netns()
    with Lab():
        assert remains(name) == []
    assert lab_session.state.exists()


def test_the_product_is_installed_once_for_each_state_of_the_sources(
    lab_session: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "nodenet").mkdir(parents=True)
    (tmp_path / "cache" / "nodenet" / "rootfs").symlink_to(lab_session.rootfs.parent)
    makefile = "install:\n\tinstall -D -m644 daemon/x.py $(DESTDIR)/usr/lib/nodenet/x.py\n"
    (tmp_path / "Makefile").write_text(makefile)
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon" / "x.py").write_text("X = 1\n")
    tree = install_product(tmp_path, kind=Tree.NODE)
    assert install_product(tmp_path, kind=Tree.NODE) == tree
    made = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*")) if path.is_file()]
    assert made == ["usr/lib/nodenet/__pycache__/x.cpython-314.pyc", "usr/lib/nodenet/x.py"]
    (tmp_path / "daemon" / "x.py").write_text("X = 2\n")
    assert install_product(tmp_path, kind=Tree.NODE) != tree


def netns() -> list[str]:
    return [path.name for path in Path("/run/netns").iterdir()]


def remains(lab: str) -> list[str]:
    """Whatever on this machine still carries that lab's name."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    places = ["/run/netns", "/run/nodenet-lab", "/run/systemd/nspawn/propagate", str(host.cgroups())]
    names = [str(path) for place in places for path in Path(place).iterdir()]
    processes = [path.read_bytes().decode() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    wanted = (f"nodenet-{lab}-", f"nodenet-lab-{lab}", f"nodenet-lab/{lab}")
    return [line for line in mounts + names + processes if any(word in line for word in wanted)]
