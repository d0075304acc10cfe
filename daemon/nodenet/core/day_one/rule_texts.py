"""What happens to a host where a rule of day one is broken? For docs/day-one-rules.md and for the SARIF document."""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.day_one.rules import Rule

WHY: Mapping[Rule, str] = {
    Rule.OTHER_TOOL: (
        "The file is written for another tool, and nodenetd ignores or refuses it: a "
        "NodeNetworkConfigurationPolicy, netplan, ifcfg, Butane, a keyfile, or an artefact of nodenet itself."
    ),
    Rule.TEMPLATE: "Placeholders of a template are still in the file.",
    Rule.NOT_TEXT: "The file is not UTF-8 text, or begins with a byte order mark.",
    Rule.NOT_YAML: "The text is not YAML.",
    Rule.KEY_TWICE: ("A mapping has one key two times. YAML forbids it, and many readers silently take the last one."),
    Rule.TOO_LARGE: (
        "The file is larger than any that can be used: 1 MiB for a node file, 32 MiB for install-config and hosts."
    ),
    Rule.UNREADABLE: (
        "The file cannot be read: permissions, a link that leads nowhere, a directory or a device of that name."
    ),
    Rule.CHANGED: (
        "Another program wrote to the folder during the check. The findings may mix old and new content of the files."
    ),
    Rule.NO_DOCUMENT: "The file is not a mapping of keys.",
    Rule.NMSTATE_KEY: (
        "NMState does not have the key at this place, or its value is of another kind. libnmstate would "
        "refuse the file, or silently ignore the key."
    ),
    Rule.NMSTATE_VALUE: "The value cannot be applied on any host.",
    Rule.NMSTATE_REFUSED: "libnmstate itself refuses the document.",
    Rule.NEXT_HOP: (
        "The gateway is outside every subnet of the link of the route. The kernel refuses the route, and the host "
        "reaches no other subnet."
    ),
    Rule.EQUAL_ROUTES: (
        "Two default routes of one family, table and metric leave by different links. The order in which the links are "
        "activated decides which one is used, and another boot may decide otherwise."
    ),
    Rule.UNDEFINED: (
        "A route uses an interface that the document does not describe. The route is in no profile, so it is not made."
    ),
    Rule.POLICY: (
        "A policy with `capture` needs the state of a running host. nodenetd applies states only, and the image is "
        "made before there is a host."
    ),
    Rule.STEP_HOSTNAME: "A keyfile cannot set the host name; libnmstate drops the key.",
    Rule.STEP_ABSENT: "`state: absent` removes something, and a new host has nothing to remove.",
    Rule.STEP_TYPE: (
        "An interface has no type. On a running host libnmstate looks it up; for an image it has to be written."
    ),
    Rule.STEP_MAC: (
        "`copy-mac-from` needs the MAC address of a running host. libnmstate drops it on an ovs-bridge, and "
        "the bridge gets another address."
    ),
    Rule.STEP_OVS: (
        "The image has no Open vSwitch, and the document without it cannot be derived: a bond of Open "
        "vSwitch, several links below a bridge, `ovs-db` or `ovn` in a document without br-ex."
    ),
    Rule.STEP_FUNCTION: (
        "A keyfile would name its link `sriov:PF:ID`. NetworkManager refuses that name and ignores the keyfile, so "
        "that a bond has no ports."
    ),
    Rule.STEP_NO_ADDRESS: (
        "No interface of the document gets an address, so that the host comes up with link-local addresses at most."
    ),
    Rule.STEP_EMPTY: ("libnmstate generates no keyfile from the document: the host comes up with DHCP on every link."),
    Rule.STEP_ASSUMED: ("libnmstate guesses a value to generate the keyfiles, for example the type of a port."),
    Rule.NO_ROUTE: (
        "The host has static addresses and no default route: it reaches its own subnets only, and the Ignition "
        "server is rarely in one of them."
    ),
    Rule.NO_DNS: "The host has static addresses and no DNS server: it cannot resolve the name of the API.",
    Rule.KERNEL_NAME: (
        "A name such as eth0 depends on the order in which the kernel finds the cards. The image and the "
        "installed system may find them in another order."
    ),
    Rule.BRIDGE: "The document has a part of br-ex and not the Open vSwitch bridge br-ex itself.",
    Rule.BRIDGE_PORT: (
        "br-ex does not have exactly one NIC, VLAN or bond as its port: the node is cut off from the network, "
        "or makes a loop."
    ),
    Rule.BRIDGE_INTERFACE: (
        "br-ex has no port that is its internal interface `br-ex`, or that interface is not described: no "
        "interface has the node's addresses."
    ),
    Rule.BRIDGE_MAC: (
        "br-ex does not take the MAC address of its link (`copy-mac-from`). Switches see another address "
        "after the boot, and a DHCP server gives another lease."
    ),
    Rule.BRIDGE_METRIC: (
        "br-ex gets its default route from DHCP or autoconfiguration without `auto-route-metric: 48`. The default "
        "route of a second NIC can win over it."
    ),
    Rule.BRIDGE_UPLINK_IP: (
        "The link below br-ex has its own addresses or DHCP. A port of a bridge receives nothing: these "
        "addresses do not work, and their routes lead nowhere."
    ),
    Rule.EXTENSION: ("The name of the file does not end in `.yml`. Other readers of /etc/nmstate/openshift ignore it."),
    Rule.TWO_FILES: "Two files are for the same host, and no rule says which one wins.",
    Rule.FILE_NAME: ("No host finds the file, because its name is not a host name or another file is found first."),
    Rule.ADDRESS_TWICE: (
        "Two hosts have the same address. Each of them loses its connections when the other one sends packets."
    ),
    Rule.CLUSTER_FILE: (
        "`cluster.yml` is for every host without a file of its own, and it holds a static address or a MAC "
        "address, which only one host can have."
    ),
    Rule.EMPTY_FILE: "The file asks for nothing, and hides the file that the host would use without it.",
    Rule.NO_FILE: ("A host has no node file, and there is no cluster.yml: it comes up with DHCP on every link."),
    Rule.NO_HOST: ("A node file is for a host that neither install-config nor hosts have. Its name may be mistyped."),
    Rule.SHAPE: "install-config or the hosts file does not have the structure that the installer expects.",
    Rule.HOST_TWICE: "Two hosts have the same name.",
    Rule.MAC_TWICE: "Two hosts have the same MAC address: the installer and the switches find only one of the hosts.",
    Rule.BAD_MAC: "`bootMACAddress` is missing or not a MAC address.",
    Rule.OUTSIDE: (
        "No address of the host is in `networking.machineNetwork`: kubelet would register with an address "
        "that the cluster does not expect, and the installer refuses it."
    ),
    Rule.IS_VIP: (
        "A host has the address of a VIP. keepalived then removes the address from the host, or cannot use it."
    ),
    Rule.DIFFERS: (
        "`networkConfig` and the node file give the host another address, gateway or NIC: it changes its "
        "address between the first and the second step."
    ),
    Rule.NETWORK_CONFIG: (
        "`networkConfig` is not a mapping, usually because it is written as a block of text (`|`). The "
        "installer refuses it."
    ),
    Rule.MC_SIZE: ("The MachineConfig of the folder would be larger than 1 MiB, which the API server refuses."),
    Rule.PATH_TWICE: "Two MachineConfigs write the same file. The one whose name sorts last wins.",
    Rule.MC_DIFFERS: (
        "A MachineConfig has another content for a node file than the folder: one of the two is older than the other."
    ),
    Rule.SECRET_MISSING: (
        "A BareMetalHost names a Secret for its network that is not in the file. The host waits until it exists."
    ),
    Rule.SECRET_SHAPE: (
        "The Secret has no key `nmstate` with a base64 document, so that the host gets no network configuration."
    ),
    Rule.SECRET_DIFFERS: ("The Secret has another address, gateway or NIC than the node file of its host."),
}
"""Why each rule exists: what happens to the host."""
