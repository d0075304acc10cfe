"""Does the operator's image, built from its Containerfile, run as the manifest starts it, beside a real API?"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from containers import command
from harness import eventually
from harness.kube import Cluster
from hosted_cluster_objects import RESOURCE
from hosted_operators import API_OF_PODS, MANIFEST, PATIENCE, SETTINGS, Operators, kubeconfig, operated, shows
from images import ROOT, Images
from ipam_site import manifest

NAME = "operator-image"
REQUIREMENTS, PACKAGE = "packaging/requirements.txt", "daemon/nodenet"
STALE = "__pycache__/stale.cpython-311.pyc"
MOUNTED = {
    "settings": "/etc/nodenet",
    "kubeconfig": "/etc/nodenet-operator",
    "account": "/run/secrets/kubernetes.io/serviceaccount",
}
"""Directory of the test → where a pod of the manifest has it."""


def private(context: Path) -> Path:
    """Return the context of the build as a careful user's clone has it, with bytecode of the tests in it."""
    for name in (".dockerignore", REQUIREMENTS):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, context / name)
    shutil.copytree(ROOT / PACKAGE, context / PACKAGE)
    (context / PACKAGE / "__pycache__").mkdir(exist_ok=True)
    (context / PACKAGE / STALE).touch()
    for path in context.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return context


def deployed() -> dict[str, Any]:
    """Return the container of the manifest's Deployment, and its pod's security context."""
    (deployment,) = (found for found in manifest(str(MANIFEST)) if found["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    return {"pod": pod["securityContext"], **pod["containers"][0]}


def test_the_image_runs_as_the_manifest_starts_it(images: Images, cluster: Cluster, tmp_path: Path) -> None:
    """It prints its help, leads, makes the object and serves metrics, without a right on the machine."""
    image = images.build(ROOT / "packaging/operator/Containerfile", private(tmp_path / "context"))
    root, config = images.mounted(image), images.config(image)
    wanted = deployed()
    assert config["User"].partition(":")[0] == str(wanted["pod"]["runAsUser"])
    assert not (root / "usr/lib/nodenet/nodenet" / STALE).exists()
    shown = subprocess.run(command(root, config, ["--help"], {}), capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("usage: nodenet-operator ")

    operators = Operators(operated(cluster))
    for part in MOUNTED:
        (tmp_path / part).mkdir()
    (tmp_path / "settings/nodenet.toml").write_text(SETTINGS)
    (tmp_path / "kubeconfig/kubeconfig").write_text(kubeconfig({API_OF_PODS: cluster.server.url}))
    (tmp_path / "account/ca.crt").write_bytes(cluster.server.authority.read_bytes())
    (tmp_path / "account/token").write_text(operators.token.read_text())
    mounts = {place: tmp_path / part for part, place in MOUNTED.items()}
    cluster.run(NAME, *command(root, config, wanted["args"], mounts))
    shows(cluster, wanted["ports"][0]["containerPort"], "nodenet_operator_leader 1")
    eventually(lambda: cluster.admin.find(RESOURCE), "the object", timeout=PATIENCE)
    started = cluster.processes()[NAME]
    (process,) = Path(f"/proc/{started}/task/{started}/children").read_text().split()
    rights = dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text().splitlines())
    assert set(rights["Uid"].split()) == {str(wanted["pod"]["runAsUser"])}
    assert (int(rights["CapEff"], 16), rights["NoNewPrivs"]) == (0, "1")
    assert " ro," in Path(f"/proc/{process}/mountinfo").read_text().splitlines()[0].partition(" - ")[0]
    os.kill(int(process), signal.SIGTERM)
    eventually(lambda: not Path(f"/proc/{process}").exists(), "its end", timeout=PATIENCE)
    assert operators.leader() == "", "it gave its Lease back"
