"""Which settings of nodenetd follow from install-config, so that VIPs are typed once?

The file is for ``/etc/nodenet/nodenet.toml.d``; an administrator's later file wins over it, key by key.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from nodenet.core.day_one.files import ArtefactInvalid, CarriedFile
from nodenet.core.day_one.hosts import Cluster
from nodenet.core.day_one.links import child
from nodenet.core.errors import SettingsInvalid
from nodenet.core.node_file.yaml_text import Scalar
from nodenet.core.settings.parse import parse

PATH = PurePosixPath("/etc/nodenet/nodenet.toml.d/20-cluster.toml")
USER_MANAGED = "UserManaged"


def settings_of(cluster: Cluster) -> CarriedFile:
    """Return the settings file, the same bytes for the same values. Raises ArtefactInvalid if nodenetd refuses it."""
    values: dict[str, str | bool | list[str]] = {"platform": cluster.platform}
    if network_type := _text(cluster, "networking", "networkType"):
        values["network_type"] = network_type
    values["api_vips"] = [str(vip) for vip in cluster.api_vips]
    values["ingress_vips"] = [str(vip) for vip in cluster.ingress_vips]
    values["user_managed_lb"] = _text(cluster, "platform", cluster.platform, "loadBalancer", "type") == USER_MANAGED
    name, domain = _text(cluster, "metadata", "name"), _text(cluster, "baseDomain")
    if name and domain:
        values["cluster_domain"] = f"{name}.{domain}"
    lines = [f"# Made from {PurePosixPath(cluster.file).name} by `nodenetctl day-one machine-config`."]
    lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    content = ("\n".join(lines) + "\n").encode()
    try:
        parse([(str(PATH), content)])
    except SettingsInvalid as error:
        raise ArtefactInvalid(f"nodenetd would refuse these settings: {error.cause}") from None
    return CarriedFile(PATH, content)


def _text(cluster: Cluster, *keys: str) -> str:
    found = child(cluster.document, *keys)
    return found.text if isinstance(found, Scalar) else ""
