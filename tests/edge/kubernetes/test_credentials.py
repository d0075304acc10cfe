"""Which TLS contexts are made of a kubeconfig, and which ones never."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.kubeconfig import Access, Material
from nodenet.edge.kubernetes.credentials import context


def test_an_empty_ca_file_does_not_mean_the_cas_of_the_system(tmp_path: Path) -> None:
    """As while another program writes it: the token would go to whoever has a certificate of a public CA."""
    (tmp_path / "ca.crt").write_text("")
    with pytest.raises(Unavailable, match=r"^The kubeconfig's certificates cannot be used: "):
        context(Access("https://api:6443", ca=Material(file=PurePosixPath(tmp_path, "ca.crt"))))
