"""The custom resources that carry day-one artefacts, as far as a cluster judges them: strict where we write."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
TEXT: Document = {"type": "string"}
FLAG: Document = {"type": "boolean"}
MAC = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"


def _resource(group: str, version: str, kind: str, *, namespaced: bool, spec: Document) -> Document:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec}, "required": ["spec"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


BARE_METAL_HOST = _resource(
    "metal3.io",
    "v1alpha1",
    "BareMetalHost",
    namespaced=True,
    spec={
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
    },
)
MACHINE_CONFIG = _resource(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfig",
    namespaced=False,
    spec={
        "type": "object",
        "properties": {
            "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "kernelArguments": {"type": "array", "items": TEXT},
        },
    },
)
