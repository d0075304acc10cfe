"""The stack that nodenet replaces, as a node runs it: keepalived, haproxy with its monitor, and a server of its names.

That stack runs them in containers as static pods of kubelet, which do not start in the lab: here the same programs are
services, with its priorities, checks and intervals. keepalived forks a check each two seconds; a loop asks haproxy and
sets the redirect. ``lab-static-pods`` starts and stops them as kubelet does with the manifests on its disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dns_questions import SERVE
from harness import Node
from vip_rig import API

MANIFESTS = "/etc/kubernetes/manifests"
PODS = ("keepalived", "haproxy", "coredns")
KEEPALIVED = """global_defs {{
    enable_script_security
    script_user root
    max_auto_priority -1
    vrrp_garp_master_refresh 60
}}
vrrp_script balancer {{
    script "/usr/local/bin/lab-check-balancer"
    interval 2
    weight 20
    rise 3
    fall 3
}}
vrrp_script any_server {{
    script "/usr/local/bin/lab-check-any"
    interval 2
    weight 5
    rise 3
    fall 3
}}
vrrp_instance api {{
    state BACKUP
    interface eth0
    virtual_router_id {router}
    priority 40
    advert_int 1
    unicast_src_ip {own}
    unicast_peer {{
        {peers}
    }}
    authentication {{
        auth_type PASS
        auth_pass c1_api_v
    }}
    virtual_ipaddress {{
        {vip}/24 label vip
    }}
    track_script {{
        balancer
        any_server
    }}
}}
"""
HAPROXY = """defaults
    maxconn 20000
    mode tcp
    retries 3
    timeout queue 1m
    timeout connect 10s
    timeout client 86400s
    timeout server 86400s
    timeout tunnel 86400s
frontend main
    bind :::9445 v4v6
    default_backend masters
listen health
    bind :::9444 v4v6
    mode http
    monitor-uri /haproxy_ready
backend masters
    option httpchk GET /readyz HTTP/1.0
    balance roundrobin
{servers}
"""
SERVER_LINE = "    server {name} {address}:6443 weight 1 verify none check check-ssl inter 1s fall 2 rise 3"
ASK = "timeout 1.9 curl -o /dev/null -kfs https://localhost:"
CHECK_BALANCER = f"#!/bin/sh\n{ASK}9445/readyz && [ -e /run/lab-redirect ]\n"
CHECK_ANY = f"#!/bin/sh\n{ASK}9445/readyz || {ASK}6443/readyz\n"
MONITOR = f"""#!/bin/sh
good=0 bad=0
while sleep 1; do
    if curl -o /dev/null -fs -m 1 http://localhost:9444/haproxy_ready; then
        bad=0 good=$((good + 1))
        if [ $good = 3 ] && [ ! -e /run/lab-redirect ]; then
            nft 'table ip lab; delete table ip lab; table ip lab {{
                chain a {{ type nat hook prerouting priority -100; ip daddr {API} tcp dport 6443 redirect to :9445; }}
                chain b {{ type nat hook output priority -100; ip daddr {API} tcp dport 6443 redirect to :9445; }}
            }}' && touch /run/lab-redirect
        fi
    else
        good=0 bad=$((bad + 1))
        [ $bad = 11 ] && nft delete table ip lab && rm -f /run/lab-redirect
    fi
done
"""
STATIC_PODS = f"""#!/bin/sh
for pod in {" ".join(PODS)}; do
    while sleep 0.2; do
        if [ -e {MANIFESTS}/$pod.yaml ]; then
            systemctl -q is-active lab-$pod || {{
                sleep 3  # the sandbox, and the container that renders the configuration
                [ ! -e {MANIFESTS}/$pod.yaml ] || systemctl start lab-$pod
            }}
        elif systemctl -q is-active lab-$pod; then
            systemctl stop lab-$pod
        fi
    done &
done
wait
"""
SCRIPTS = {
    "lab-check-balancer": CHECK_BALANCER,
    "lab-check-any": CHECK_ANY,
    "lab-monitor": MONITOR,
    "lab-static-pods": STATIC_PODS,
    "lab-coredns.py": SERVE,
}
UNIT = """[Unit]
After=network-online.target
Wants=network-online.target
{more}
[Service]
ExecStart={command}
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""
COMMANDS = {
    "lab-keepalived": "/usr/sbin/keepalived --dont-fork --vrrp --log-console --no-syslog",
    "lab-haproxy": "/usr/sbin/haproxy -Ws -f /etc/lab-haproxy.cfg",
    "lab-monitor": "/usr/local/bin/lab-monitor",
}
"""The programs whose cost is measured."""
_OTHERS = {
    "lab-static-pods": "/usr/local/bin/lab-static-pods",
    "lab-coredns": f"/usr/bin/python3 /usr/local/bin/lab-coredns.py 0.0.0.0 53 {API}",
}
_MORE = {
    "lab-haproxy": "Wants=lab-monitor.service",
    # They are containers of one pod, and the monitor takes its rules away with it.
    "lab-monitor": "PartOf=lab-haproxy.service",
}
_CLEANS = "ExecStopPost=-/bin/sh -c 'nft delete table ip lab; rm -f /run/lab-redirect'\n"


def files_of(name: str, addresses: Mapping[str, str], router_id: int) -> dict[str, str]:
    """Return the configurations and units of the node *name*; *addresses*: those of all control-plane nodes."""
    peers = "\n        ".join(one for other, one in addresses.items() if other != name)
    servers = "\n".join(SERVER_LINE.format(name=one, address=address) for one, address in addresses.items())
    units = {}
    for unit, command in (COMMANDS | _OTHERS).items():
        text = UNIT.format(command=command, more=_MORE.get(unit, ""))
        units[f"/etc/systemd/system/{unit}.service"] = (
            text.replace("[Install]", f"{_CLEANS}[Install]") if unit == "lab-monitor" else text
        )
    return {
        "/etc/keepalived/keepalived.conf": KEEPALIVED.format(
            router=router_id, own=addresses[name], peers=peers, vip=API
        ),
        "/etc/lab-haproxy.cfg": HAPROXY.format(servers=servers),
        **units,
    }


def install(node: Node, files: Mapping[str, str]) -> None:
    """Put the stack on a node's disk; nothing of it is enabled."""
    for path, text in files.items():
        node.write(path, text)
    for program, text in SCRIPTS.items():
        node.write(f"/usr/local/bin/{program}", text, 0o755)


def manifests(node: Node, *, there: bool, pods: Sequence[str] = PODS) -> None:
    """Let kubelet have the static pods of the stack, or take them away: one after the other, as an update does."""
    for pod in pods:
        if there:
            node.write(f"{MANIFESTS}/{pod}.yaml", "kind: Pod\n")
        else:
            node.run(["rm", f"{MANIFESTS}/{pod}.yaml"])
