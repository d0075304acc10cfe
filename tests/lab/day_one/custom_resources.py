"""The custom resources that carry day-one artefacts, as far as a cluster judges them: strict where we write."""

from __future__ import annotations

from typing import Any

from harness.kube_client import ANYTHING, custom_resource

Document = dict[str, Any]
TEXT: Document = {"type": "string"}
FLAG: Document = {"type": "boolean"}
MAC = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"


def _with_spec(spec: Document) -> Document:
    return {"type": "object", "properties": {"spec": spec}, "required": ["spec"]}


BARE_METAL_HOST = custom_resource(
    "metal3.io",
    "v1alpha1",
    "BareMetalHost",
    _with_spec(
        {
            "type": "object",
            "required": ["online"],
            "properties": {
                "online": FLAG,
                "bootMACAddress": {"type": "string", "pattern": MAC},
                "preprovisioningNetworkDataName": TEXT,
                "bmc": {
                    "type": "object",
                    "required": ["address", "credentialsName"],
                    "properties": {"address": TEXT, "credentialsName": TEXT, "disableCertificateVerification": FLAG},
                },
            },
        }
    ),
    namespaced=True,
)
MACHINE_CONFIG = custom_resource(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfig",
    _with_spec(
        {
            "type": "object",
            "properties": {
                "config": ANYTHING,
                "kernelArguments": {"type": "array", "items": TEXT},
            },
        }
    ),
    namespaced=False,
)
