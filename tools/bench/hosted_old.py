"""Three lab nodes with keepalived and haproxy configured as the stack has them that nodenet replaces.

That stack runs them in containers, with monitors beside them, which do not start in the lab: here the same programs
are services, with its priorities, checks and intervals. keepalived forks a check each two seconds; a loop asks haproxy
and sets the redirect.
"""

from __future__ import annotations

from harness import Lab, Lan, eventually
from harness.rootfs import DEFAULT, packages
from vip_rig import API, FIRST, KEYFILE, PROGRAMS, SERVER, SERVER_UNIT, SWITCHED_OFF, Options, Rig, authority, until

NODES = 3
PROFILES = "/etc/NetworkManager/system-connections"
ROUTER_ID = 14
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
SCRIPTS = {
    "lab-apiserver": SERVER,
    "lab-check-balancer": CHECK_BALANCER,
    "lab-check-any": CHECK_ANY,
    "lab-monitor": MONITOR,
}
UNIT = """[Unit]
After=network-online.target
Wants=network-online.target
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


class OldRig(Rig):
    """The nodes; what a test or a measure asks of them is the same as of nodenet's."""

    def __init__(self, lab: Lab, lan: Lan) -> None:
        self.lan = lan
        self.options = Options(nodes=NODES)
        self.names = [f"master-{number}" for number in range(NODES)]
        self.nodes = {}
        addresses = {name: f"10.88.0.{FIRST + number}" for number, name in enumerate(self.names)}
        servers = "\n".join(SERVER_LINE.format(name=name, address=one) for name, one in addresses.items())
        credentials = authority(lan.state)
        layer = packages(DEFAULT, *PROGRAMS, "curl")
        for name, own in addresses.items():
            peers = "\n        ".join(one for one in addresses.values() if one != own)
            files = {
                **credentials,
                "/etc/keepalived/keepalived.conf": KEEPALIVED.format(router=ROUTER_ID, own=own, peers=peers, vip=API),
                "/etc/lab-haproxy.cfg": HAPROXY.format(servers=servers),
                "/etc/systemd/system/lab-apiserver.service": SERVER_UNIT,
                "/etc/systemd/system/keepalived.service": SWITCHED_OFF,
                "/etc/systemd/system/haproxy.service": SWITCHED_OFF,
                **{
                    f"/etc/systemd/system/{unit}.service": UNIT.format(command=command)
                    for unit, command in COMMANDS.items()
                },
            }
            node = lab.node(name, nics=[lan], layers=[layer], files=files)
            for program, text in SCRIPTS.items():
                node.write(f"/usr/local/bin/{program}", text, 0o755)
            host = int(own.rpartition(".")[2])
            node.write(f"{PROFILES}/uplink.nmconnection", KEYFILE.format(host=host), 0o600)
            node.enable("lab-apiserver.service", *(f"{unit}.service" for unit in COMMANDS))
            self.nodes[name] = node

    def settle(self, name: str) -> None:
        """Wait until the node's redirect is there: haproxy answers, and keepalived runs."""
        node = self.nodes[name]
        eventually(lambda: node.run("test -e /run/lab-redirect", check=False).returncode == 0 or None, "it", timeout=90)

    def ready(self) -> None:
        """Wait until two nodes serve, one of which has the VIP."""
        mark = ["test", "-e", "/run/lab-redirect"]

        def able() -> bool:
            running = [node for node in self.nodes.values() if node.is_on]
            return len(self.holders()) == 1 and sum(node.run(mark, check=False).returncode == 0 for node in running) > 1

        until(able, "a holder and a candidate", 180)

    def quiet(self, *, timeout: float = 120) -> str:
        """Wait until one node has the VIP and each running one serves; return the holder."""
        for name, node in self.nodes.items():
            if node.is_on:
                self.settle(name)
        return self.one_holder(timeout=timeout)
