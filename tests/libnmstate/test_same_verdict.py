"""Ours takes text, the packaged libnmstate takes a document: both have one verdict for every file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import libnmstate
from fuzz_grammar import as_yaml, node_document
from libnmstate.error import NmstateError
from nodenet.core.node_file.content import judge
from nodenet.core.node_file.find import read
from nodenet.core.node_file.finding import errors
from nodenet.core.node_file.yaml_text import load, plain

ROOT = Path(__file__).parents[2]
FIXTURES = sorted([*(ROOT / "fixtures/node_file").glob("*.yml"), *(Path(__file__).parent / "documents").glob("*.yml")])
TEXTS = {
    "name-010": "interfaces:\n- {name: 010, type: dummy, state: up}\n",
    "date": "interfaces:\n- {name: eth1, type: ethernet, description: 2024-01-01}\n",
    "client-id": "interfaces:\n- name: eth1\n  type: ethernet\n  ipv4: {enabled: true, dhcp-client-id: 00:11:22}\n",
    "password-0042": (
        "interfaces:\n- name: e\n  type: ethernet\n  802.1x: {identity: 0042, eap-methods: [md5], password: 01234567}\n"
    ),
    "number": "interfaces:\n- {name: 1000, type: dummy}\n",
    "description-5": "description: 5\ninterfaces: []\n",
    "exponent": "interfaces:\n- {name: 1e3, type: dummy}\n",
    "yes": "interfaces:\n- {name: yes, type: dummy, ipv4: {enabled: yes}}\n",
    "metric": "routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eth0, metric: 7, table-id: 0xfe}]}\n",
}


def taken(document: object) -> bool:
    try:
        libnmstate.validate(document)  # type: ignore[arg-type]
    except NmstateError:
        return False
    return True


def taken_by_the_packaged_one(text: str) -> bool:
    """As edge/nmstate/worker.py calls a libnmstate that has neither text nor `validate`."""
    try:
        libnmstate.generate_differences({"interfaces": []}, plain(load("w.yml", text)) or {})
    except NmstateError:
        return False
    return True


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_fixture_has_one_verdict(path: Path) -> None:
    """(R47)."""
    text = path.read_text()
    assert taken(text)
    assert taken(plain(load(path.name, text)))
    assert taken_by_the_packaged_one(text)
    assert errors(judge(read(path.name, text.encode())).findings) == []


@pytest.mark.parametrize("name", TEXTS)
def test_scalars_that_look_like_something_else_have_one_verdict(name: str) -> None:
    """A YAML 1.1 reader made 8 of 010 and a date of a description (R47)."""
    text = TEXTS[name]
    assert taken(text) == taken(plain(load("w.yml", text)))


def test_documents_of_the_grammar_have_one_verdict() -> None:
    """Where libnmstate's two doors differ, our own judgement refuses the file."""
    for seed in range(600):
        rng = Random(seed)  # noqa: S311
        text = as_yaml(rng, node_document(rng, []))
        refused_by_us = bool(errors(judge(read("w.yml", text.encode())).findings))
        by_text, by_document = taken(text), taken(plain(load("w.yml", text)) or {})
        assert by_text == by_document or refused_by_us, f"seed {seed}"
