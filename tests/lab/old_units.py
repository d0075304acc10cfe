"""What do the units do that nodenetd replaces, as far as the rest of the node can see?"""

STUBS = {
    # stage → what a unit that does it leaves behind
    "hostname": "true",
    "nmstate": "cp /etc/nmstate/openshift/cluster.yml /etc/nmstate/openshift/applied",
    "resolv-prepender": "touch /run/resolv-prepender-kni-conf-done",
    "nodeip": (
        "mkdir -p /run/nodeip-configuration; for i in $(seq 600); do"
        " ip=$(ip -4 -o address show dev eth0 scope global | sed 's,.*inet ,,; s,/.*,,;q'); test -n \"$ip\" && break;"
        " sleep 0.1; done; printf %s $ip > /run/nodeip-configuration/primary-ip;"
        " cp /run/nodeip-configuration/primary-ip /run/nodeip-configuration/ipv4"
    ),
    "configure-ovs": "mkdir -p /run/nodeip-configuration; touch /run/nodeip-configuration/br-ex-up",
    "hosted-services": "true",
}


def old_unit(name: str, script: str) -> dict[str, str]:
    """Return a oneshot that writes down each of its runs, as the units that nodenetd replaces are made."""
    program = f"/usr/local/libexec/old-{name}"
    unit = f"[Service]\nType=oneshot\nExecStart=/bin/sh -e {program}\n"
    files = {program: f"echo run >> /run/lab-{name}.runs\n{script}\n"}
    return {f"/etc/systemd/system/old-{name}.service": unit, **files}
