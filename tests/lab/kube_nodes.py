"""Node objects in a real API, and the right of nodes to list all of them."""

from __future__ import annotations

from harness.kube import NODES, Cluster
from vip_rig import FIRST

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "lab-list-nodes"},
    "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "lab-list-nodes"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lab-list-nodes"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": NODES}],
}


def add_node(cluster: Cluster, name: str, number: int, role: str = "control-plane") -> None:
    """Make a Node with the address that the node with this *number* of a rig has."""
    cluster.admin.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {f"node-role.kubernetes.io/{role}": ""}},
        }
    )
    address = {"type": "InternalIP", "address": f"10.88.0.{FIRST + number}"}
    cluster.admin.patch(f"/api/v1/nodes/{name}/status", {"status": {"addresses": [address]}})
