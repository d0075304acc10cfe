"""The document about the probes of the last apply."""

from __future__ import annotations

from nodenet.core.ip import Family
from nodenet.core.node_file.links import Hop
from nodenet.core.probes.questions import NO_LOOK, Answer, Kind, Look, Question
from nodenet.core.probes.verdict import report, verdict

GATEWAY, DNS = Question(Kind.GATEWAY, "192.0.2.1", "eth0"), Question(Kind.DNS, "192.0.2.53")


def test_every_answer_has_a_row_with_its_time() -> None:
    hops, there = frozenset({Hop("eth0", Family.IPV4, "192.0.2.1")}), frozenset({Family.IPV4})
    before, after = (
        Look(answers, hops, there) for answers in ({GATEWAY: Answer.YES}, {GATEWAY: Answer.NO, DNS: Answer.NOT_ASKED})
    )
    document = report("worker-0.yml", before, after, verdict(before, after), {GATEWAY: 1.00049, DNS: 1.0})
    assert document == {
        "schema_version": 1,
        "node_file": "worker-0.yml",
        "kept": False,
        "failed": ["the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply"],
        "noted": ["the DNS server 192.0.2.53 was not asked again: it did not answer before the apply"],
        "probes": [
            {"when": when, "what": what, "name": name, "link": link, "answer": answer, "seconds": seconds}
            for when, what, name, link, answer, seconds in (
                ("before", "gateway", "192.0.2.1", "eth0", "answers", 1.0),
                ("after", "gateway", "192.0.2.1", "eth0", "does not answer", 1.0),
                ("after", "DNS server", "192.0.2.53", None, "was not asked again", None),
            )
        ],
    }
    assert report("a.yml", NO_LOOK, NO_LOOK, verdict(NO_LOOK, NO_LOOK), {})["kept"]
