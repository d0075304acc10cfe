"""OVN on a node: its own programs on br-ex, and a script that does what ovnkube-node does.

ovn-northd, its databases and ovn-controller are those of Debian. ovn-controller makes br-int and both patch ports. The
service `ovnkube` gives OVN a gateway router with the node's address and MAC, a pod, and flows on br-ex that hold port
numbers; it puts the masquerade addresses, routes, a neighbour and a rule into the kernel. Like ovnkube-node it writes
its flows again from time to time, and exits when the uplink's or the patch port's number is another: systemd starts it
again, as kubelet does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Node, Suite
from harness.rootfs import DEFAULT, packages

SCRIPT = "/usr/local/bin/ovnkube"
UNIT = "/etc/systemd/system/ovnkube.service"
START_SECONDS = 200
"""Three starts of a minute each."""
UNMANAGED = "type:tun;interface-name:br-int;interface-name:ovn-k8s-*;interface-name:patch-br-*;interface-name:pod0"
"""As a cluster has it; and what the lab's other nodes have, which this file takes the place of."""
FILES = {
    UNIT: f"""[Unit]
After=kubelet.service openvswitch-switch.service
StartLimitIntervalSec=0
[Service]
Type=notify
NotifyAccess=all
ExecStart=/bin/bash {SCRIPT}
Restart=on-failure
RestartSec=2
TimeoutStartSec=60
[Install]
WantedBy=multi-user.target
""",
    "/etc/NetworkManager/conf.d/50-sdn.conf": f"[keyfile]\nunmanaged-devices={UNMANAGED}\n",
    SCRIPT: r"""set -eu
name=worker-0.ocp.example.com
patch=patch-br-ex_$name-to-br-int
uplink=$(ovs-vsctl --bare --columns=name find interface type=system | head -n 1)
mac=$(cat /sys/class/net/br-ex/address)
own() { ip -"$1" -o address show dev br-ex scope global | grep -v -e 169.254 -e fd69: | awk 'NR == 1 {print $4}'; }
until own4=$(own 4) && [ -n "$own4" ]; do sleep 0.2; done
own6=$(own 6)
gateway=$(ip -4 route show default dev br-ex | awk 'NR == 1 {print $3}')
address=${own4%/*}

ovs-vsctl set open . external-ids:ovn-remote=unix:/run/ovn/ovnsb_db.sock \
  external-ids:ovn-encap-type=geneve external-ids:ovn-encap-ip="$address" external-ids:system-id=$name \
  external-ids:ovn-bridge-datapath-type=netdev external-ids:ovn-monitor-all=true \
  external-ids:ovn-bridge-mappings=physnet:br-ex \
  -- set bridge br-ex external-ids:bridge-id=br-ex external-ids:bridge-uplink="$uplink"
systemctl start ovn-central ovn-host
until [ -S /run/ovn/ovnnb_db.sock ] && [ -S /run/ovn/ovnsb_db.sock ]; do sleep 0.1; done

gr=GR_$name
for name_of in ext_$name node_$name; do ovn-nbctl --may-exist ls-add $name_of; done
ovn-nbctl --may-exist lr-add $gr -- set logical_router $gr options:chassis=$name \
  -- --if-exists lrp-del rtoe-$gr -- lrp-add $gr rtoe-$gr "$mac" "$own4" ${own6:+"$own6"} \
  -- --may-exist lrp-add $gr rtos-$gr 0a:58:0a:80:00:01 10.128.0.1/23 \
  -- --may-exist lsp-add ext_$name br-ex_$name -- lsp-set-type br-ex_$name localnet \
  -- lsp-set-addresses br-ex_$name unknown -- lsp-set-options br-ex_$name network_name=physnet \
  -- --may-exist lsp-add ext_$name etor -- lsp-set-type etor router -- lsp-set-addresses etor router \
  -- lsp-set-options etor router-port=rtoe-$gr \
  -- --may-exist lsp-add node_$name stor -- lsp-set-type stor router -- lsp-set-addresses stor router \
  -- lsp-set-options stor router-port=rtos-$gr \
  -- --may-exist lsp-add node_$name pod -- lsp-set-addresses pod "0a:58:0a:80:00:05 10.128.0.5" \
  -- --if-exists lr-nat-del $gr -- lr-nat-add $gr snat "$address" 10.128.0.0/23 \
  -- --if-exists lr-route-del $gr -- lr-route-add $gr 0.0.0.0/0 "$gateway" rtoe-$gr
until ovs-vsctl br-exists br-int; do sleep 0.2; done
ovs-vsctl --may-exist add-port br-int pod0 -- set interface pod0 type=internal external-ids:iface-id=pod
if [ ! -e /run/netns/pod ]; then
  ip netns add pod
  until ip link show pod0 > /dev/null 2>&1; do sleep 0.2; done
  ip link set pod0 netns pod
  ip -n pod link set pod0 address 0a:58:0a:80:00:05 mtu 1350 up
  ip -n pod address add 10.128.0.5/23 dev pod0
  ip -n pod route add default via 10.128.0.1
fi

ip address replace 169.254.0.2/17 dev br-ex
ip -6 address replace fd69::2/112 dev br-ex nodad || true
ip route replace 169.254.0.1 dev br-ex src "$address" mtu 1400
ip route replace 169.254.0.3 dev br-ex
ip route replace 172.30.0.0/16 via 169.254.0.4 dev br-ex src 169.254.0.2 mtu 1400
ip route replace 10.128.0.0/14 via 169.254.0.4 dev br-ex table 7
ip neigh replace 169.254.0.4 lladdr 0a:58:a9:fe:00:04 dev br-ex nud permanent
ip rule show priority 30 | grep -q . || ip rule add priority 30 fwmark 0x1745ec to 172.30.0.0/16 lookup 7

number() { ovs-vsctl --timeout=5 get interface "$1" ofport; }
looks=0
until number "$patch" 2> /dev/null | grep -q '^[0-9]'; do
  sleep 0.2
  # It has seen the mapping and the port in an order that makes it wait for another change.
  if ((looks++ % 50 == 49)); then ovn-appctl -t ovn-controller recompute || true; fi
done
ports="$(number "$uplink") $(number "$patch")"
read -r up in <<< "$ports"
commit() { echo "ct(commit,zone=64000,exec(load:$1->NXM_NX_CT_MARK[])),output:$up"; }
flows() {
  local c=cookie=0xdeff105 family kind
  for family in ip ipv6; do
    echo "$c,priority=100,in_port=$in,$family,actions=$(commit 1)"
    echo "$c,priority=100,in_port=LOCAL,$family,actions=$(commit 2)"
    echo "$c,priority=50,in_port=$up,$family,actions=ct(zone=64000,table=1)"
    echo "$c,table=1,priority=100,ct_state=+est+trk,ct_mark=1,$family,actions=output:$in"
    echo "$c,table=1,priority=100,ct_state=+est+trk,ct_mark=2,$family,actions=LOCAL"
  done
  for kind in 133 134 135 136; do echo "$c,priority=110,icmp6,icmp_type=$kind,actions=FLOOD"; done
  echo "$c,priority=10,in_port=$up,dl_dst=$mac,actions=output:$in,LOCAL"
  echo "$c,priority=9,in_port=$in,actions=output:$up"
  echo "$c,priority=0,actions=NORMAL"
  echo "$c,table=1,priority=10,dl_dst=$mac,actions=LOCAL"
  echo "$c,table=1,priority=0,actions=NORMAL"
}
flows > /run/ovnkube.flows
ovs-ofctl --bundle replace-flows br-ex /run/ovnkube.flows
until ip netns exec pod ping -q -c 1 -W 1 "$gateway" > /dev/null; do sleep 0.2; done
systemd-notify --ready
while sleep 3; do
  now="$(number "$uplink") $(number "$patch")"
  if [ "$now" != "$ports" ]; then
    echo "the port numbers of uplink and patch port are $now, not $ports"
    exit 1
  fi
  ovs-ofctl --bundle replace-flows br-ex /run/ovnkube.flows
done
""",
}


def layer(suite: Suite = DEFAULT) -> Path:
    """Return OVN's programs; forky has none of its own at the moment, so they are those of trixie."""
    return packages(suite, "ovn-central", "ovn-host", beside=Suite.TRIXIE if suite is not Suite.TRIXIE else None)


def install(node: Node) -> None:
    """Leave the start of OVN's programs to the service, as in a cluster; for a node that is off."""
    for unit in ("ovn-central.service", "ovn-host.service"):
        node.path(f"/etc/systemd/system/multi-user.target.wants/{unit}").unlink()


def start(node: Node) -> None:
    """Start OVN, and wait until its pod reaches the gateway; systemd starts what is late again, as kubelet does."""
    node.run("systemctl enable --now --no-block ovnkube")
    node.wait_until("systemctl is-active ovnkube", timeout=START_SECONDS)


def stop(node: Node) -> None:
    """Stop the service that puts things into the kernel; OVN's own programs go on."""
    node.run("systemctl stop ovnkube", timeout=60)


@contextmanager
def pod_reaches_gateway(node: Node, *, lost: int = 0) -> Iterator[None]:
    """Assert that at most *lost* packets, ten a second, are lost between the pod and the gateway in the block."""
    ping = "ip netns exec pod ping -O -i 0.1 10.88.0.1 > /run/pod-ping"
    node.run(["systemd-run", "--quiet", "--unit=pod-ping", "/bin/sh", "-c", ping])
    yield
    answers = node.run("sleep 1; systemctl stop pod-ping; cat /run/pod-ping").stdout
    assert "bytes from 10.88.0.1" in answers
    assert answers.count("no answer yet") <= lost
