"""Does a real kube-apiserver take the Secret, the BareMetalHost and the MachineConfig?"""

from __future__ import annotations

import base64
from pathlib import Path

from day_one.artefacts import day_one
from day_one.custom_resources import BARE_METAL_HOST, MACHINE_CONFIG
from harness import Lan, eventually
from harness.kube import Cluster

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"
NAMESPACE = "openshift-machine-api"
HOST = """# the new worker
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: worker-2   # as in the rack
  namespace: openshift-machine-api
spec:
  online: true
  bootMACAddress: 52:54:00:00:00:03
  bmc:
    address: redfish-virtualmedia+http://192.0.2.1/redfish/v1/Systems/1
    credentialsName: worker-2-bmc
"""
STRICT = ("--dry-run=server", "--validate=strict")


def test_the_cluster_takes_every_object(lan: Lan, tmp_path: Path) -> None:
    """Strict validation: an unknown field is an error. Nothing but the host is stored."""
    bmh = tmp_path / "bmh.yaml"
    bmh.write_text(HOST)
    patch, whole, config = tmp_path / "patch.yaml", tmp_path / "whole.yaml", tmp_path / "mc.yaml"
    node_file = SEED / "ostest-master-0.yml"
    day_one("secret", node_file, "--host", "worker-2", "--out", patch)
    day_one("secret", node_file, "--host", "worker-2", "--bmh", bmh, "--out", whole)
    words = ("--hint", "192.168.111.0", "--settings", SEED / "install-config.yaml", "--out", config)
    day_one("machine-config", SEED / "br-ex", "--role", "master", *words)
    with Cluster(lan) as cluster:
        cluster.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for resource in (BARE_METAL_HOST, MACHINE_CONFIG):
            cluster.admin.apply(resource)
        kinds = ("baremetalhosts", "machineconfigs")
        eventually(lambda: all(_served(cluster, kind) for kind in kinds), "the custom resources", timeout=30)
        cluster.kubectl("apply", *STRICT, "-f", str(config))
        cluster.kubectl("apply", *STRICT, "-f", str(whole))
        cluster.kubectl("apply", "--validate=strict", "-f", str(bmh))
        cluster.kubectl("apply", "--server-side", "--field-manager=day-one", *STRICT, "-f", str(patch))
        cluster.kubectl("apply", "--server-side", "--field-manager=day-one", "--validate=strict", "-f", str(patch))
        found = cluster.kubectl("get", "baremetalhost", "worker-2", "-n", NAMESPACE, "-o", "jsonpath={.spec}").stdout
        assert '"preprovisioningNetworkDataName":"worker-2-network-config-secret"' in found
        assert '"bootMACAddress":"52:54:00:00:00:03"' in found
        name, path = "worker-2-network-config-secret", "jsonpath={.data.nmstate}"
        stored = cluster.kubectl("get", "secret", name, "-n", NAMESPACE, "-o", path).stdout
        assert base64.b64decode(stored) == node_file.read_bytes()
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text(whole.read_text().replace("preprovisioningNetworkDataName", "preprovisioningNetworkData"))
        refused = cluster.kubectl("apply", *STRICT, "-f", str(wrong), check=False)
        assert refused.returncode != 0
        assert "unknown field" in refused.stderr


def _served(cluster: Cluster, kind: str) -> bool:
    return cluster.kubectl("get", kind, "-A", check=False).returncode == 0
