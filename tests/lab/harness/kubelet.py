"""How does a lab node get a real kubelet with containerd?

    node = product_node(layers=[product, *kubelet_layers()], files=kubelet_files(cluster, "worker-0"))
    node.enable(*KUBELET_UNITS)

Containers do not start in systemd-nspawn, but a node registers without them. kubelet writes some settings of the kernel
that a container may not write: it gets private copies, mounted over them.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from harness.kube import Cluster
from harness.kube_programs import Program
from harness.rootfs import DEFAULT, Suite, packages

KUBELET_UNITS = ("containerd.service", "kubelet.service")
PACKAGES = ("containerd", "runc", "conntrack", "iptables")
COPIED = (
    *("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)
"""Below /proc/sys: kubelet ends if it cannot set these."""
PREPARE = f"""set -e
[ -e /dev/kmsg ] || ln -s /dev/null /dev/kmsg
mkdir -p /run/lab-kernel
for name in {" ".join(COPIED)}; do
	copy=/run/lab-kernel/$(basename $name)
	[ -e $copy ] || {{ cat /proc/sys/$name > $copy; mount --bind $copy /proc/sys/$name; }}
done
"""
UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target containerd.service
After=network-online.target containerd.service

[Service]
ExecStartPre=/bin/sh /usr/local/lib/lab/prepare-kubelet
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --kubeconfig=/etc/kubernetes/kubelet.conf \\
    --node-ip=${KUBELET_NODE_IPS}
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
KUBEADM_UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStartPre=/bin/sh /usr/local/lib/lab/prepare-kubelet
ExecStart=/usr/local/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
KUBEADM_DROP_IN = """[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/none --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/etc/kubernetes/kubelet.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/local/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
"""The variables and the order of kubeadm's 10-kubeadm.conf."""
CONFIGURATION = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "failSwapOn": False,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "enforceNodeAllocatable": [],
    "cgroupsPerQOS": False,
    "localStorageCapacityIsolation": False,
    "featureGates": {"KubeletInUserNamespace": True},
    "nodeStatusReportFrequency": "5s",
}


def kubelet_layers(suite: Suite = DEFAULT) -> Sequence[Path]:
    """Return what to lay over a node's root file system: containerd of the distribution, and kubelet."""
    return packages(suite, *PACKAGES), Program.KUBELET.layer


def kubeadm_files(cluster: Cluster, node: str) -> dict[str, str]:
    """Return the same with kubelet's unit as kubeadm's packages have it, with the empty file for arguments."""
    return kubelet_files(cluster, node, KUBEADM_UNIT) | {
        "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBEADM_DROP_IN,
        "/etc/default/kubelet": "KUBELET_EXTRA_ARGS=\n",
        "/var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--v=2"\n',
    }


def kubelet_files(cluster: Cluster, node: str, unit: str = UNIT) -> dict[str, str]:
    """Return the files of a node whose kubelet registers at the cluster as *node*."""
    return {
        "/usr/lib/systemd/system/kubelet.service": unit,
        "/etc/kubernetes/kubelet.yaml": json.dumps(CONFIGURATION, indent=1),
        "/etc/kubernetes/kubelet.conf": cluster.node_client(node).kubeconfig(),
        "/usr/local/lib/lab/prepare-kubelet": PREPARE,
    }
