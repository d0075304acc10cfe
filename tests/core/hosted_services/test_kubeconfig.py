"""Kubeconfig files as tools write them, and files that cannot be used."""

import base64
import json
from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.kubeconfig import (
    MOST_BYTES,
    Access,
    KubeconfigInvalid,
    Material,
    by_vips,
    exposed,
    parse,
    warnings,
)

HERE = PurePosixPath("/var/lib/kubelet")
DATA = base64.b64encode(b"PEM").decode()
FRAME = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
SERVER = 'server: "https://api-int.c1.example.com:6443"'


def read(cluster: str = SERVER, user: str = "token: secret") -> Access:
    return parse(FRAME.format(cluster=cluster, user=user).encode(), HERE)


def test_the_api_is_also_at_its_vips_where_the_server_is_a_name_of_the_cluster() -> None:
    vips = (ip_address("192.0.2.2"), ip_address("2001:db8::2"))
    access = read(f"{SERVER}, certificate-authority-data: {DATA}")
    name = "api-int.c1.example.com"
    assert by_vips(access, vips, 6444, "c1.example.com") == (
        replace(access, server="https://192.0.2.2:6444", server_name=name),
        replace(access, server="https://[2001:db8::2]:6444", server_name=name),
    )
    named = replace(access, server="https://api.c1.example.com:6443/x", server_name="kubernetes")
    assert by_vips(named, vips[:1], 6443, "c1.example.com") == (replace(named, server="https://192.0.2.2:6443/x"),)
    assert by_vips(replace(access, insecure=True), vips, 6443, "c1.example.com") == ()
    assert by_vips(replace(access, server="https://192.0.2.9:6443"), vips, 6443, "c1.example.com") == ()
    assert by_vips(access, vips, 6443, "c2.example.com") == ()


def test_client_certificates_in_files_and_in_the_text() -> None:
    found = read(
        f"{SERVER}, certificate-authority: ../ca.crt",
        "client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem, client-key: pki/key.pem",
    )
    assert found == Access(
        "https://api-int.c1.example.com:6443",
        ca=Material(file=HERE / "../ca.crt"),
        certificate=Material(file=PurePosixPath("/var/lib/kubelet/pki/kubelet-client-current.pem")),
        key=Material(file=HERE / "pki/key.pem"),
    )
    inline = read(f"{SERVER}, certificate-authority-data: {DATA}", f"client-certificate-data: {DATA}")
    assert (inline.ca, inline.certificate) == (Material(content=b"PEM"), Material(content=b"PEM"))


def test_tokens_names_and_weaknesses() -> None:
    assert read().token == Material(content=b"secret")
    assert read(user="tokenFile: token").token == Material(file=HERE / "token")
    weak = read(f"{SERVER}, insecure-skip-tls-verify: true, tls-server-name: api-int.c1.example.com")
    assert (weak.insecure, weak.server_name) == (True, "api-int.c1.example.com")
    assert warnings(weak) == ("it has insecure-skip-tls-verify: any host can pose as the API. Name its CA instead",)
    assert warnings(read()) == ()
    assert exposed(read(), 0o644) == "its mode is 644, and other users can read the credentials"
    assert exposed(read(), 0o640) is not None
    assert exposed(read(), 0o600) is None


def test_a_file_that_names_the_files_of_its_secrets_may_be_read_by_all() -> None:
    """As that of a pod, whose token is renewed beside it."""
    named = read(user="tokenFile: /var/run/secrets/token")
    assert exposed(named, 0o644) is None


@pytest.mark.parametrize(
    ("cluster", "user", "reason"),
    [
        ('server: "http://api:80"', "token: x", "server is 'http://api:80'; expected https://HOST:PORT"),
        ('server: "https://api:port"', "token: x", "server is 'https://api:port'; expected https://HOST:PORT"),
        (
            'server: "https://u:p@api"',
            "token: x",
            "server is given with a user or password; expected https://HOST:PORT",
        ),
        ("name: c", "token: x", "the cluster has no server"),
        (SERVER, "exec: {command: x}", "the user has exec: use a client certificate or a token"),
        (SERVER, "username: a, password: b", "the user has username: use a client certificate or a token"),
        (f"{SERVER}, proxy-url: x", "token: x", "the cluster has proxy-url: a node reaches its API directly"),
        (f"{SERVER}, certificate-authority-data: '*'", "token: x", "certificate-authority-data is not base64"),
        (f"{SERVER}, certificate-authority: [1]", "token: x", "certificate-authority is not a text"),
    ],
)
def test_what_cannot_be_used_is_named(cluster: str, user: str, reason: str) -> None:
    with pytest.raises(KubeconfigInvalid) as refused:
        read(cluster, user)
    assert str(refused.value) == reason


def test_documents_that_are_none() -> None:
    for content in (b"", b"[]", b"a: [", b"\xff", b"current-context: x", b"x" * MOST_BYTES + b"y"):
        with pytest.raises(KubeconfigInvalid):
            parse(content, HERE)


@given(st.text(max_size=100))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text.encode("utf-8", "replace"), HERE)
    except KubeconfigInvalid:
        return


@pytest.mark.parametrize(
    "text",
    [
        "users:\n- user: {token: hunter2\n  x\n",
        "users:\n- user:\n    token: hunter2: x\n",
        "token: hunter2\ntoken: hunter2x\n",
        "token: !hunter2 x\n",
        "token: *hunter2\n",
        'token: "hunter2\\q"\n',
        "client-key-data: |\n  hunter2\n x: [\n",
    ],
)
def test_a_file_that_is_broken_near_a_secret_shows_nothing_of_it(text: str) -> None:
    """The reason goes to the journal and to a status that every user may read."""
    with pytest.raises(
        KubeconfigInvalid, match=r"^it is not YAML \(line \d\)$|^it has a key twice \(line 2\)$|^the document"
    ) as refused:
        parse(text.encode(), HERE)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        b"a: !!bool foo\n",
        b"a: !!int ''\n",
        b"a: !!float x\n",
        b"a: !!timestamp x\n",
        b"? {a: b}\n: 1\n",
        b"? [a]\n: 1\n",
        b"!!set {a}\n",
        b"!!omap [a]\n",
        b"!!pairs [a]\n",
        b"!!binary x\n",
        b"%YAML 1.3\n---\na: 1\n",
        b"a: &x [*x]\n",
        b"a: !!map b\n  c: d\n",
        b'a: "\\U00110000"\n',
        b"[" * 5000,
        b"a: &a [x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (n + 1, n + 1, b", ".join([b"*%c" % n] * 10)) for n in range(97, 105)),
    ],
)
def test_a_tag_an_alias_or_depth_raises_nothing_else(content: bytes) -> None:
    """The constructors of a YAML library raise TypeError, AssertionError, KeyError and IndexError (R42, R43)."""
    with pytest.raises(KubeconfigInvalid):
        parse(content, HERE)


WORDS = st.sampled_from(
    ["clusters", "users", "contexts", "current-context", "name", "cluster", "user", "context", "server", "token", "c"]
)
VALUES = st.recursive(
    WORDS | st.integers() | st.booleans() | st.none() | st.text(max_size=6) | st.just("https://a:6443"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(WORDS, VALUES, max_size=6))
def test_any_document_is_read_or_refused_in_one_printable_line(document: dict[str, object]) -> None:
    said = ""
    try:
        assert parse(json.dumps(document).encode(), HERE).server.startswith("https://")
    except KubeconfigInvalid as error:
        said = str(error)
    assert said.isprintable()
