# ruff: noqa: E402  (the path comes before the imports)
"""Does every document from outside end in a value or in one error that names its place? Tried with many inputs.

    python tools/fuzz_documents.py --inputs 1000000 [--seed 7] [--door node-file --door netlink]

Each door takes nearly right documents, made from their grammar, and bytes. What is looked for: an exception of
another class, an error without file, line or key, more than 0.2 s, a secret in any text. Exits 1 with the first inputs
that did.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import sys
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from random import Random

sys.path[:0] = [str(Path(__file__).parents[1] / "daemon"), str(Path(__file__).parent)]

import fuzz_grammar as grammar
from nodenet.core import open_vswitch as rows
from nodenet.core.apply import intent
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.lease import Moment, StaticLease, verdict
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import NodeFileInvalid, SettingsInvalid, SnapshotInvalid, Unavailable
from nodenet.core.kernel import iproute, neighbours, rtnetlink
from nodenet.core.kernel.rtnetlink_messages import addresses, next_hop_objects, raw_route, route
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.state import Checkpoint
from nodenet.core.nmstate import state as nmstate_state
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure, answer_of, shaped
from nodenet.core.node_file import content, find
from nodenet.core.node_file.translate import finding_of
from nodenet.core.node_file.yaml_text import Misread, typed
from nodenet.core.node_ip import last_published
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, read_policy
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse as parse_settings

SLOWEST = 0.2
"""Seconds of the loop that one document may take (issue 12); a machine that does other work gets a second try."""
FIXTURES = Path(__file__).parents[1] / "fixtures"
SETTINGS_FILE = "/etc/nodenet/nodenet.toml"
WORDS_OF_LIBNMSTATE = (
    'interface "eth1" (type ethernet): invalid type: integer `{}`, expected a string: quote the value to keep it',
    'interface "eth1" (type not given): invalid value: string "{}", expected one of `a`, `b`',
    "Verification failure: eth1.interface.802.1x.password desire '{}', current '1500'",
    "unknown variant `{}`, expected one of `up`, `down`",
    "Route 'destination: {}': next hop interface eth0 not found",
    'odd: Ieee8021XConfig {{ identity: None, password: Some("{}") }}',
    "{}",
)
UNREADABLE = (OSError, struct.error, ValueError, IndexError)
"""What the decoders of the kernel's messages raise; the edge raises Unavailable instead."""


class Complaint(Exception):
    """An input did what no input may do."""


def spellings(secret: str) -> set[str]:
    """Return how a secret may be quoted, without those that are too short to be distinguished from other words."""
    plain = secret.strip("'")
    value = typed(plain) if plain == secret else plain
    found = {secret.strip("'"), str(value), *([str(int(value))] if isinstance(value, float) else [])}
    return {each for each in found if len(each) >= 9}


def no_secret(texts: Iterator[str], hidden: list[str]) -> None:
    """Raise Complaint when one of the *texts* has a secret in it."""
    for text in texts:
        for secret in hidden:
            if any(each in text for each in spellings(secret)):
                raise Complaint(f"the secret {secret} is in {text!r}")


def node_file(rng: Random) -> object:
    """Judge a node file; without mutations no text about it may have its secrets."""
    hidden: list[str] = []
    raw: bytes
    if rng.random() < 0.1:
        raw = grammar.noise(rng)
    else:
        text = grammar.as_yaml(rng, grammar.node_document(rng, hidden))
        if rng.random() < 0.5:
            text, hidden = grammar.mutated(rng, text, grammar.YAML_PIECES), []
        raw = text.encode("utf-8", "surrogatepass")
    try:
        judged = content.judge(find.read("w.yml", raw))
    except NodeFileInvalid as error:
        if not (isinstance(error, Misread) and error.line >= 1 and error.cause.startswith("w.yml, line ")):
            raise Complaint(f"no place: {error}") from error
        return raw
    for each in judged.findings:
        if not (each.line and each.cause and each.remedy and each.sentence().isprintable()):
            raise Complaint(f"no place, no remedy or not printable: {each}")
    no_secret((f"{each.sentence()} {each.remedy}" for each in judged.findings), hidden)
    return raw


def settings(rng: Random) -> object:
    """Read a settings file."""
    raw = grammar.noise(rng)
    if rng.random() < 0.9:
        lines = [f"{rng.choice(grammar.TOML_PIECES)} = {json.dumps(rng.choice(grammar.WORDS))}" for _ in range(4)]
        example = (Path(__file__).parents[1] / "units/nodenet.toml").read_text() if rng.random() < 0.1 else ""
        raw = grammar.mutated(rng, "\n".join(lines) + example, grammar.TOML_PIECES).encode()
    try:
        parse_settings([(SETTINGS_FILE, raw)])
    except SettingsInvalid as error:
        if SETTINGS_FILE not in error.cause or error.exit_code != 78:
            raise Complaint(f"no file: {error}") from error
    return raw


def hints(rng: Random) -> object:
    """Read a hint file."""
    lines = [f"{rng.choice(('NODEIP_HINT', 'KUBELET_NODEIP_HINT', 'A'))}={rng.choice(grammar.WORDS)}" for _ in range(3)]
    raw = grammar.mutated(rng, "\n".join(lines), grammar.TOML_PIECES).encode("utf-8", "surrogatepass")
    raw = grammar.noise(rng) if rng.random() < 0.1 else raw
    for problem in read_policy(Settings(), raw).problems:
        if HINT_FILE not in problem.cause:
            raise Complaint(f"no file: {problem}")
    return raw


SNAPSHOTS = [path.read_text() for path in sorted(FIXTURES.glob("node_ip/*/snapshot.json"))[:20]]


def snapshot(rng: Random) -> object:
    """Read what `ip -j` printed."""
    text = rng.choice(SNAPSHOTS)
    if rng.random() < 0.5:
        text = grammar.mutated(rng, text, grammar.YAML_PIECES)
    else:
        text = json.dumps(grammar.disturbed(rng, json.loads(text), 0.02))
    raw: str | bytes = grammar.noise(rng) if rng.random() < 0.1 else text
    try:
        iproute.parse(raw)
    except SnapshotInvalid as error:
        if not re.search(r"\$|byte|larger|nested|cannot be read|is a list|none of the keys", error.cause):
            raise Complaint(f"no path: {error}") from error
    return raw


ROWS = [
    {"rows": [{"name": "br-ex", "datapath_type": "", "ports": ["uuid", "p1"], "external_ids": ["map", [["a", "b"]]]}]},
    {
        "rows": [
            {"_uuid": ["uuid", "p1"], "name": "p", "interfaces": ["set", [["uuid", "i1"]]], "external_ids": ["map", []]}
        ]
    },
    {"rows": [{"_uuid": ["uuid", "i1"], "name": "i", "type": "", "error": ["set", []], "external_ids": ["map", []]}]},
]


def ovsdb(rng: Random) -> object:
    """Read the rows of Open vSwitch's database."""
    answers = grammar.disturbed(rng, ROWS, 0.04)
    try:
        rows.bridges(rows.results(answers))
    except (Unavailable, *rows.MALFORMED):
        return answers
    return answers


def netlink(rng: Random) -> object:
    """Decode the kernel's messages."""
    header = bytes((2, 24, 0, 0)) + bytes(12)
    kind = rng.choice((16, 20, 24, 28, 104, 2, 3))
    raw = grammar.netlink(rng, kind, header[: rng.choice((8, 12, 16))])
    raw = grammar.noise(rng) if rng.random() < 0.1 else raw
    padded = memoryview(bytearray(raw + bytes(rtnetlink.SCRATCH)))
    names = {1: "lo", 2: "eth0"}
    for decode in (
        lambda: [rtnetlink.link(each) for each in rtnetlink.Dump().every(padded, len(raw))],
        lambda: list(addresses(rtnetlink.Dump().every(padded, len(raw)), names)),
        lambda: [route(raw_route(each), names) for each in rtnetlink.Dump().telling_routes(padded, len(raw))],
        lambda: next_hop_objects(rtnetlink.Dump().every(padded, len(raw))),
        lambda: list(neighbours.neighbours(raw)),
        lambda: list(neighbours.refusals(raw)),
    ):
        try:
            decode()
        except UNREADABLE:
            continue
    return raw


def words(rng: Random) -> object:
    """Translate what libnmstate says of a document with secrets."""
    hidden: list[str] = []
    text = grammar.as_yaml(rng, grammar.node_document(rng, hidden))
    judged = content.judge(find.read("w.yml", text.encode()))
    quoted = rng.choice([*hidden, *(str(typed(each)) for each in hidden), *grammar.WORDS]).strip("'")
    said = rng.choice(WORDS_OF_LIBNMSTATE).format(quoted)
    found = finding_of(NmstateFailure(FailureKind.INVALID, said), judged.document, judged.desired.secrets)
    no_secret(iter((f"{found.sentence()} {found.remedy}", judged.desired.secrets.hidden_in(said))), hidden)
    return said, text


ANSWER = {"result": {"interfaces": [{"name": "eth0"}], "routes": {"config": []}}, "elsewhere": 0.5, "said": []}


def answers(rng: Random) -> object:
    """Read the answer of the process that runs libnmstate, whole or not."""
    line = json.dumps(grammar.disturbed(rng, ANSWER, 0.1)).encode() + b"\n"
    line = line[: rng.randint(0, len(line))] if rng.random() < 0.3 else line
    line = grammar.noise(rng) if rng.random() < 0.1 else line
    try:
        if (answer := answer_of(line)) and not answer.failure:
            state = shaped(answer.result)
            nmstate_state.link(state, "eth0")
            nmstate_state.routes(state, "config", "eth0")
    except NmstateFailure:
        return line
    return line


NOW = Moment("b", 9.0, 1_700_000_009.0)
KEPT = KeptProfile("u-1", "uplink", "/etc/x", in_memory=False, settings={"ipv4": {"method": "auto"}}, keyfile="[ipv4]")
RECORDS = (
    intent.render(intent.Intent("a", intent.Phase.APPLYING, "b", 1.0, "a", ended=5.0)),
    bridge_record.render(
        BridgeRecord(
            {"br-ex": "eth0"},
            {"eth0": "52:54:00:00:00:01"},
            ("192.0.2.5",),
            {"eth0": KEPT},
            ("u-1",),
            {"br-ex": {"ipv4": {"address-data": []}}},
            {"br-ex": StaticLease("192.0.2.5", NOW, 3600.0)},
        )
    ),
    last_published.render(last_published.LastPublished((ip_address("192.0.2.5"),), "52:54:00:00:00:01", "b")),
)


def _use_intent(raw: bytes) -> None:
    record = intent.parse(raw)
    intent.is_ours(Checkpoint("/1", 2.0, intent.ROLLBACK_SECONDS), record, "b", 3.0)
    intent.plan("a", record, "b", matches=True, retry_refused=False)
    intent.render(record)


def _use_bridge_record(raw: bytes) -> None:
    record = bridge_record.parse(raw)
    bridge_record.render(record.renamed("eth0", "ens7").finished(["br-ex"]))
    record.addresses  # noqa: B018 - it reads every address
    for lease in record.leases.values():
        verdict(lease.at(NOW), None, NOW)


def records(rng: Random) -> object:
    """Read and use records that a power cut, another version or an administrator left."""
    raw = json.dumps(grammar.disturbed(rng, json.loads(rng.choice(RECORDS)), 0.1)).encode()
    raw = raw[: rng.randint(0, len(raw))] if rng.random() < 0.2 else raw
    raw = grammar.noise(rng) if rng.random() < 0.1 else raw
    for use in (_use_intent, _use_bridge_record, lambda each: last_published.parse(each, "b")):
        try:
            use(raw)
        except ValueError:
            continue
    return raw


Door = Callable[[Random], object]
DOORS: dict[str, Door] = {
    "node-file": node_file,
    "settings": settings,
    "hints": hints,
    "snapshot": snapshot,
    "ovsdb": ovsdb,
    "netlink": netlink,
    "words": words,
    "answers": answers,
    "records": records,
}


def tried(door: Door, seed: int) -> str | None:
    """Return what is wrong with the input that *seed* makes, None when nothing is."""
    for _ in range(2):
        began = time.process_time()
        try:
            raw = door(Random(seed))  # noqa: S311  (nothing is secret here)
        except Complaint as complaint:
            return str(complaint)
        except Exception as error:  # noqa: BLE001  (that there is none is what is tried)
            return f"{type(error).__name__}: {error}"
        spent = time.process_time() - began
        if spent < SLOWEST:
            return None
    return f"{spent:.2f} s for {str(raw)[:300]!r}"


def main() -> int:
    """Try the doors; return 1 when one let something through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--door", action="append", choices=sorted(DOORS), help="try this one only; may be repeated")
    arguments = parser.parse_args()
    names = arguments.door or list(DOORS)
    each = -(-arguments.inputs // len(names))
    bad = 0
    for name in names:
        began, found = time.monotonic(), 0
        for seed in range(arguments.seed, arguments.seed + each):
            if wrong := tried(DOORS[name], seed):
                found += 1
                if found <= 5:
                    print(f"{name}, seed {seed}: {wrong}", file=sys.stderr)
        bad += found
        print(f"{name}: {each} inputs, {found} complaints, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
