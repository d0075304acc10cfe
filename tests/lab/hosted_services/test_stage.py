"""The stage hosted-services on booted nodes: done when DNS and VIPs are decided, bounded, and gone without a trace."""

from __future__ import annotations

from pathlib import Path

from chain import DROP_IN, NETDEV
from dns_questions import ask
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan
from hosted_watch import first_answer, stage_ended, watch_units
from lookups import servers
from report.test_page import page_of
from story import causes, nothing_left, ready_monotonic, settle, stage, status

API_INT = "api-int.c.example.com"
DNSMASQ, COMPANION = "nodenet-dnsmasq.service", "nodenet-hosted.service"
SERVICES = f"{DNSMASQ} {COMPANION} nodenet-keepalived.service nodenet-haproxy.service"
STAGES = "/etc/nodenet/nodenet.toml.d/40-stages.toml"
HANGS = "#!/bin/sh\nexec sleep infinity\n"
ANSWER_SECONDS = 2.0
"""A tenth of a second where nothing else runs; here several boots share two cores."""


def test_dns_answers_before_kubelet_survives_br_ex_and_goes_without_a_trace(
    hosted_node: NodeFactory, lan: Lan, tmp_path: Path
) -> None:
    """One boot with br-ex: the first answer, kills and restarts that cost nothing, and hosted services switched off."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = hosted_node(
        files={DROP_IN: NETDEV, **watch_units()}, enable=["nodenetd.service", "lab-first-answer.service"]
    )
    node.boot()
    document = settle(node, timeout=120)
    assert document["health"] == "ok", causes(node)
    assert document["bridge"] == "br-ex"
    hosted = stage(document, "hosted-services")
    assert hosted["status"] == "done"
    assert hosted["detail"].startswith("api-int is 10.88.0.5, the API VIP")
    assert first_answer(node) - stage_ended(node, "nodeip") < ANSWER_SECONDS
    (node_ip,) = document["node_ips"]
    assert servers(node.record("kubelet").resolv_conf)[0] == node_ip
    assert node.run(f"systemctl show -P NRestarts {DNSMASQ}").stdout.strip() == "0"
    assert '"br-ex"' in node.run("nft list table inet nodenet_dns").stdout
    shown = page_of(node, tmp_path, "hosted")
    assert "Hosted services" in shown.of("heading")
    assert API_INT in " ".join(shown.of("main"))
    pid = node.run(f"systemctl show -P MainPID {DNSMASQ}").stdout
    # The companion and nodenetd end: DNS goes on with the same process.
    node.run(f"systemctl kill -s KILL {COMPANION}")
    node.run("systemctl restart nodenetd", timeout=90)
    settle(node)
    node.wait_until(f"systemctl is-active {COMPANION}", timeout=30)
    assert node.run(f"systemctl show -P MainPID {DNSMASQ}").stdout == pid
    assert ask(node, API_INT, node_ip) == "NOERROR 10.88.0.5"
    # Switched off: every unit ends, and no file and no table is left.
    node.write(STAGES, '[hosted]\nenabled = "no"\n')
    node.run("nodenetctl reload --wait", timeout=120)
    node.wait_until(f"! systemctl is-active -q {SERVICES}", timeout=30)
    assert node.run("nft list tables").stdout == ""
    assert node.run("ls /run/nodenet/hosted/dnsmasq.conf /run/nodenet/hosted/started", check=False).returncode != 0
    assert stage(status(node), "hosted-services")["detail"] == '`[hosted] enabled` is "no"'
    nothing_left(node)


def test_a_companion_that_hangs_and_other_providers_never_hold_kubelet_for_ever(
    hosted_node: NodeFactory, lan: Lan
) -> None:
    """It says nothing: READY comes after half a minute, degraded, with the cause. A unit does it, or it is skipped."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    hangs, by_unit, skipped = (hosted_node(name) for name in ("h0", "u0", "s0"))
    hangs.write("/usr/libexec/nodenet-hosted", HANGS, 0o755)
    unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/touch /run/lab-hosted\n"
    by_unit.write("/etc/systemd/system/lab-hosted.service", unit)
    by_unit.write(STAGES, '[stages]\nhosted-services = "unit:lab-hosted.service"\n')
    skipped.write(STAGES, '[stages]\nhosted-services = "skip"\n')
    for node in (hangs, by_unit, skipped):
        node.boot()
    for node, how in ((by_unit, "done"), (skipped, "skipped")):
        document = settle(node)
        assert (document["health"], stage(document, "hosted-services")["status"]) == ("ok", how)
        node.record("kubelet")
        assert node.run(f"systemctl show -P ActiveState {SERVICES}").stdout.split() == ["inactive"] * 4
    assert by_unit.run("test -e /run/lab-hosted", check=False).returncode == 0
    document = settle(hangs, timeout=120)
    assert document["health"] == "degraded"
    assert f"{COMPANION} does not run: activating" in causes(hangs)
    hangs.record("kubelet")
    assert ready_monotonic(hangs) - stage_ended(hangs, "nodeip") < 60
    assert ask(hangs, API_INT) == "NOERROR 10.88.0.5"
