"""Which TLS contexts are made of a kubeconfig, and which ones never."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.kubeconfig import Access, Material
from nodenet.edge.kubernetes.credentials import context, load


def test_an_empty_ca_file_does_not_mean_the_cas_of_the_system(tmp_path: Path) -> None:
    """As while another program writes it: the token would go to whoever has a certificate of a public CA."""
    (tmp_path / "ca.crt").write_text("")
    with pytest.raises(Unavailable, match=r"^The kubeconfig's certificates cannot be used: "):
        context(Access("https://api:6443", ca=Material(file=PurePosixPath(tmp_path, "ca.crt"))))


@pytest.mark.parametrize("table", ["kubernetes", "ipam"])
def test_the_remedy_names_the_table_that_decides(tmp_path: Path, table: str) -> None:
    with pytest.raises(Unavailable) as caught:
        load(str(tmp_path / "none"), table)
    assert caught.value.remedy == f"Correct the file, or set `[{table}] kubeconfig`"
