"""Objects of HostedNetServices in a real API, and the product's manifests for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "packaging" / "cluster"
MANIFESTS = (FOLDER / "crd-hostednetservices.yaml", FOLDER / "rbac-hosted-nodes.yaml")
GROUP = "clusterhostednetservices.operator.io"
RESOURCES = f"/apis/{GROUP}/v1alpha1/hostednetservices"
RESOURCE = f"{RESOURCES}/cluster"

Document = dict[str, Any]


def resource(spec: object = None, name: str = "cluster") -> Document:
    """Return an object; without *spec* it has none."""
    given = {} if spec is None else {"spec": spec}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "HostedNetServices",
        "metadata": {"name": name},
        **given,
    }
