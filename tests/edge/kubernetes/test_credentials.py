"""Which TLS contexts are made of a kubeconfig, and which ones never."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from pathlib import Path, PurePosixPath

import pytest

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.kubeconfig import Access, Material
from nodenet.edge.kubernetes.credentials import context, expired_ca, load, refusal, refused
from tls_certificates import certificate, end_of

SECONDS = 20.0


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
@pytest.mark.parametrize("old_ca", [False, True])
async def test_what_has_expired_is_named_with_its_date(tmp_path: Path, old_ca: bool) -> None:  # noqa: FBT001
    ca, ca_key = certificate(tmp_path, "ca", expired=old_ca)
    made, key = certificate(tmp_path, "api-int.c", expired=not old_ca, signed=("-CA", ca, "-CAkey", ca_key))
    tls, context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=str(ca))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    tls.load_cert_chain(made, key)
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ssl.SSLCertVerificationError) as caught:
            await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="api-int.c")
        said = await refusal(caught.value, "127.0.0.1", port, "api-int.c", SECONDS)
    assert expired_ca(context) == (end_of(ca) if old_ca else None)
    if not old_ca:
        assert said == f"its certificate has expired on {end_of(made)}"
    # A server that has gone meanwhile leaves OpenSSL's words.
    said = await refusal(caught.value, "127.0.0.1", port, "api-int.c", SECONDS)
    assert said == "its certificate is refused: certificate has expired"


def test_a_refusal_is_found_behind_other_errors_and_nothing_else_is_one() -> None:
    def wrapped(inner: Exception) -> Exception:
        outer, between = ValueError("as a library for HTTP raises it"), OSError("in between")
        outer.__cause__, between.__context__ = between, inner
        return outer

    inner = ssl.SSLCertVerificationError()
    assert refused(wrapped(inner)) is inner
    assert refused(wrapped(ssl.SSLError())) is None
    assert refused(None) is None


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
