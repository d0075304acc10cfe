"""Which keys does NMState have, and of which kind are their values?

Names and kinds as the nmstate crate reads them (version VERSION); tests/libnmstate holds the table to the crate.
Kinds: ``text``, ``flag`` (a boolean, also in words), ``bool``, ``int`` (digits in quotes too), ``=a,b`` (one of these),
``any``, ``@section``, and any of these in brackets for a list. ``a|b`` are two spellings of one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

VERSION = "2.2.62"
STATE = "state"
INTERFACE = "interface"

_COMMON = """
    name:text profile-name:text description:text type:text driver:text state:=up,down,absent,unknown,ignore
    identifier:=name,mac-address,pci-address mac-address:text permanent-mac-address:text pci-address:any mtu:int
    min-mtu:int max-mtu:int wait-ip:=any,ipv4,ipv6,ipv4+ipv6 ipv4:@ip ipv6:@ip mptcp:@mptcp controller:text
    accept-all-mac-addresses:flag copy-mac-from:text ovs-db:@ovs-db 802.1x:@802.1x lldp:@lldp ethtool:@ethtool
    dispatch:@dispatch alt-names:[@alt-name]
"""
_OF_TYPES = """
    link-aggregation|bond:@bond bridge:@bridge dpdk:@dpdk ethernet:@ethernet hsr:@hsr infiniband:@infiniband
    ip-tunnel:@ip-tunnel ipvlan:@ipvlan libreswan:@libreswan mac-vlan:@mac-vlan mac-vtap:@mac-vlan macsec:@macsec
    patch:@patch veth:@veth vlan:@vlan vrf:@vrf vxlan:@vxlan
"""
_TABLE: Mapping[str, str] = {
    STATE: """description:text hostname:@hostname dns-resolver:@dns-resolver route-rules:@route-rules routes:@routes
        interfaces:[@interface] ovs-db:@ovs-db ovn:@ovn""",
    INTERFACE: _COMMON + _OF_TYPES,
    "hostname": "running:text config:text",
    "dns-resolver": "running:@dns config:@dns",
    "dns": "server:[text] search:[text] options:[text]",
    "routes": "running:[@route] config:[@route]",
    "route": """state:=absent,ignore destination:text next-hop-interface:text next-hop-address:text metric:int
        table-id:int weight:int route-type:=blackhole,unreachable,prohibit cwnd:int source:text initcwnd:int
        initrwnd:int mtu:int quickack:flag advmss:int lock-mtu:flag vrf-name:text""",
    "route-rules": "config:[@route-rule]",
    "route-rule": """family:=ipv4,ipv6,unknown state:=absent ip-from:text ip-to:text priority:int
        route-table:int fwmark:int
        fwmask:int action:=blackhole,unreachable,prohibit iif:text
        suppress-prefix-length|suppress_prefixlength:int""",
    "ovs-db": "external_ids:any other_config:any",
    "ovn": "bridge-mappings:[@bridge-mapping]",
    "bridge-mapping": "localnet:text state:=present,absent bridge:text",
    "alt-name": "name:text state:text",
    "mptcp": "address-flags:[text]",
    "802.1x": """identity:text eap-methods:[text] private-key:text client-cert:text ca-cert:text
        private-key-password:text phase2-auth:text password:text""",
    "lldp": "enabled:flag neighbors:any",
    "dispatch": "post-activation:text post-deactivation:text",
    "ip": """enabled:flag dhcp:flag autoconf:flag dhcp-client-id:text dhcp-duid:text
        address:[@address] auto-dns:flag
        auto-gateway:flag auto-routes:flag auto-route-table-id:int auto-route-metric:int addr-gen-mode:text
        allow-extra-address:bool token:text dhcp-send-hostname:bool dhcp-custom-hostname:text forwarding:bool
        prefix-route-metric:int""",
    "address": """ip:text prefix-length:int mptcp-flags:[text] valid-life-time|valid-left|valid-lft:text
        preferred-life-time|preferred-left|preferred-lft:text protocol:any""",
    "ethtool": """pause:@pause feature:any coalesce:@coalesce ring:@ring fec:@fec""",
    "pause": "rx:flag tx:flag autoneg:flag",
    "coalesce": """adaptive-rx:flag adaptive-tx:flag pkt-rate-high:int pkt-rate-low:int rx-frames:int
        rx-frames-high:int
        rx-frames-irq:int rx-frames-low:int rx-usecs:int rx-usecs-high:int rx-usecs-irq:int rx-usecs-low:int
        sample-interval:int stats-block-usecs:int tx-frames:int tx-frames-high:int tx-frames-irq:int
        tx-frames-low:int tx-usecs:int tx-usecs-high:int tx-usecs-irq:int tx-usecs-low:int""",
    "ring": "rx:int rx-max:int rx-jumbo:int rx-jumbo-max:int rx-mini:int rx-mini-max:int tx:int tx-max:int",
    "fec": "auto:flag mode:text",
    "bond": "mode:any options:@bond-options port|ports:[text] ports-config:[@bond-port]",
    "bond-port": "name:text priority:int queue-id:int",
    "bond-options": """ad_actor_sys_prio:int ad_actor_system:text ad_select:any ad_user_port_key:int
        all_slaves_active:any arp_all_targets:any arp_interval:int arp_ip_target:text arp_validate:any
        downdelay:int fail_over_mac:any
        lacp_rate:any lp_interval:int miimon:int min_links:int num_grat_arp:int num_unsol_na:int
        packets_per_slave:int primary:text primary_reselect:any resend_igmp:int tlb_dynamic_lb:flag updelay:int
        use_carrier:flag xmit_hash_policy:any balance_slb|balance-slb:flag arp_missed_max:int lacp_active:flag
        ns_ip6_target:[text]""",
    "bridge": """allow-extra-patch-ports:bool allow-extra-ports:bool options:@bridge-options
        port|ports:[@bridge-port]""",
    "bridge-options": """gc-timer:any group-addr:text group-forward-mask:int group-fwd-mask:int hash-max:int
        hello-timer:any mac-ageing-time:int multicast-last-member-count:int multicast-last-member-interval:int
        multicast-membership-interval:int multicast-querier:flag multicast-querier-interval:int
        multicast-query-interval:int multicast-query-response-interval:int multicast-query-use-ifaddr:flag
        multicast-router:any multicast-snooping:flag multicast-startup-query-count:int
        multicast-startup-query-interval:int stp:any vlan-protocol:text vlan-default-pvid:any rstp:flag
        mcast-snooping-enable:flag fail-mode:text datapath:text""",
    "bridge-port": """name:text stp-hairpin-mode:flag stp-path-cost:int stp-priority:int vlan:@port-vlan
        link-aggregation|bond:@ovs-bond""",
    "port-vlan": "enable-native:flag mode:text tag:int trunk-tags:any",
    "ovs-bond": """mode:text port|ports:[@ovs-bond-port] bond-downdelay:int bond-updelay:int ovs-db:@ovs-db""",
    "ovs-bond-port": "name:text",
    "dpdk": "devargs:text rx-queue|n_rxq:any n_rxq_desc:any n_txq_desc:any lsc-interrupt|dpdk-lsc-interrupt:bool",
    "patch": "peer:text",
    "ethernet": "sr-iov:@sr-iov auto-negotiation:flag speed:int duplex:=full,half",
    "sr-iov": "drivers-autoprobe:flag total-vfs:int max-vfs:int vfs:[@vf]",
    "vf": """id:int iface-name:text mac-address:text spoof-check:flag trust:flag min-tx-rate:int max-tx-rate:int
        vlan-id:int qos:int vlan-proto:text""",
    "veth": "peer:text",
    "hsr": "port1:text port2:text interlink:text supervision-address:text multicast-spec:any protocol:text",
    "infiniband": "mode:text base-iface:text pkey:any",
    "ip-tunnel": """mode:text base-iface:text local:text remote:text ttl:any tos:any flow-label:any ip6tun-flags:[text]
        pmtu-disc:bool encap-limit:any fwmark:any""",
    "ipvlan": "base-iface:text mode:text private:flag vepa:flag",
    "libreswan": """nm-auto-defaults:bool right:text rightid:text rightrsasigkey:text rightcert:text
        left:text leftid:text
        leftrsasigkey:text leftcert:text ikev2:text psk:text ikelifetime:text salifetime:text ike:text esp:text
        dpddelay:any dpdtimeout:any dpdaction:text ipsec-interface:any authby:text rightsubnet:text
        rightsubnets:text leftsubnet:text leftsubnets:text leftmodecfgclient:bool type:text hostaddrfamily:text
        clientaddrfamily:text require-id-on-certificate:bool leftsendcert:text rightca:text leftprotoport:text
        rightprotoport:text""",
    "mac-vlan": "base-iface:text mode:text promiscuous|accept-all-mac:flag",
    "macsec": """encrypt:bool base-iface:text mka-cak:text mka-ckn:text port:any validation:text send-sci:bool
        offload:text""",
    "vlan": """base-iface:text id:int protocol:=802.1q,802.1ad registration-protocol:=gvrp,mvrp,none
        reorder-headers:bool loose-binding:bool ingress-qos-map:[@qos] egress-qos-map:[@qos]""",
    "qos": "from:int to:int",
    "vrf": "port|ports:[text] route-table-id:int",
    "vxlan": "base-iface:text id:int learning:bool local:text remote:text destination-port:int",
}


@cache
def section(name: str) -> Mapping[str, str]:
    """Return the keys of a section, each spelling, with the kind of their values. Raises KeyError."""
    keys: dict[str, str] = {}
    for entry in _TABLE[name].split():
        spellings, _, kind = entry.rpartition(":")
        keys |= dict.fromkeys(spellings.split("|"), kind)
    return keys


def sections() -> tuple[str, ...]:
    """Return the names of all sections."""
    return tuple(_TABLE)


@cache
def places() -> Mapping[str, tuple[str, ...]]:
    """Return, for every key, the sections that have it: a key in the wrong place is a common mistake."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _TABLE:
        for key in section(name):
            found[key] = (*found.get(key, ()), name)
    return found
