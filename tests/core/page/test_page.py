"""The page of a node from the parts of a report: what it shows, what it reports as missing, what it does not let in."""

from __future__ import annotations

import json
import time
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from browser import Page
from make_boots import BOOTS
from nodenet.cli.outputs import moment
from nodenet.core.page.page import MOST_BYTES, page
from nodenet.core.report.parts import Made

ABOUT = {"node": "worker-0", "made": "2026-11-21T08:30:00Z", "nodenet": "0.1.0"}
EVIL = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">\x1b[31m\u202e\ud800&amp;"
PROBLEM = {
    "message_id": "ab" * 16,
    "stage": "nmstate",
    "cause": "worker-0.yml, line 3: `mtuu` is no key",
    "remedy": "Did you mean `mtu`?",
}
STATUS: dict[str, Any] = {
    "schema_version": 1,
    "boot_id": "66f25bd7",
    "health": "degraded",
    "bridge": "br-ex",
    "uplink": "bond0.20",
    "link": "br-ex",
    "problems": [PROBLEM, {**PROBLEM, "cause": "a consequence", "remedy": ""}],
    "stages": [{"name": "nmstate", "status": "failed", "detail": "no such key", "started": 1.0, "ended": 3.5}],
}
SAID = """degraded (kubelet may run)
  node IPs    10.20.0.5 (static) on br-ex
  note        bond0 runs on 1 of 2 ports
  problem     nmstate: worker-0.yml
"""


def link(name: str, kind: str = "", *addresses: str, carrier: bool = True, **more: Any) -> dict[str, Any]:
    """Return a link as `ip -json -details address` prints it."""
    return {
        "ifname": name,
        "flags": ["UP", *(["LOWER_UP"] if carrier else [])],
        "mtu": 9000,
        "address": "52:54:00:00:00:02",
        **({"linkinfo": {"info_kind": kind, **({"info_data": {"id": 20}} if kind == "vlan" else {})}} if kind else {}),
        "addr_info": [{"local": each, "prefixlen": 24} for each in addresses],
        **more,
    }


LINKS = [
    link("eth0", master="bond0"),
    link("eth1", master="bond0", carrier=False),
    link("eth2", "", "10.30.0.5"),
    link("bond0", "bond"),
    link("bond0.20", "vlan", link="bond0"),
    link("br-ex", "openvswitch", "10.20.0.5", "10.20.0.6", "fd00::5"),
    link("veth1234", "veth", link="if7"),
]
SNAPSHOT = {"links": LINKS, "routes": [{"dst": "default", "gateway": "10.20.0.1", "dev": "br-ex"}], "routes6": []}
CHANGE = {
    "number": 7,
    "time": 1795249490.0,
    "kind": "node-file",
    "result": "refused",
    "good": False,
    "node_file": "worker-0.yml",
    "digest": "ab" * 32,
    "who": "root",
    "cause": "the gateway is silent",
}
FILES: dict[str, Any] = {
    "status.json": STATUS,
    "status.txt": SAID,
    "links.json": LINKS,
    "snapshot.json": SNAPSHOT,
    "speeds.txt": "eth0/speed:25000\neth1/speed:-1\n",
    "resolv.conf": "nameserver 10.20.0.53\nnameserver 127.0.0.53\n",
    "probes.json": {"probes": [{"what": "DNS server", "name": "10.20.0.53", "answer": "does not answer"}]},
    "ip-neighbour.txt": "10.20.0.1 dev br-ex lladdr 52:54:00:00:00:09 REACHABLE \n",
    "boot-report.json": [json.loads((BOOTS / "file-refused" / "expected.json").read_text())],
    "node-file.txt": "interfaces:\n- name: eth0\n  mtuu: 9000\n",
    "check.json": {
        "files": [{"findings": [{"line": 3, "severity": "error", "cause": "no such key", "remedy": "Remove it"}]}]
    },
    "diff.json": {
        "changes": [{"place": "eth0", "key": "mtu", "before": "1500", "after": "9000"}],
        "means": ["the node IP moves"],
        "notes": [],
        "left_over": ["@3: br-test"],
    },
    "history.json": {"entries": [{**CHANGE, "number": number} for number in range(20, 0, -1)]},
    "explain-hosted.txt": "keepalived runs here",
    "journal.txt": "".join(f"2026-11-21T08:24:50Z nodenetd[1]: line {number}\n" for number in range(20_000)),
}


SMALL = {**FILES, "journal.txt": "2026-11-21T08:24:50Z nodenetd[1]: a line\n"}


def made(files: dict[str, Any]) -> list[Made]:
    """Return parts of a report."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in files.items()}
    return [Made(name, "what", text.encode(errors="surrogatepass")) for name, text in texts.items()]


def shown(files: dict[str, Any], about: dict[str, str] = ABOUT, notes: tuple[str, ...] = ()) -> Page:
    """Return the page of a report; whatever it was made of, it is sound, passive and small."""
    text = page(made(files), about, moment, notes)
    assert len(text.encode()) <= MOST_BYTES
    found = Page(text)
    assert found.wrong == []
    assert len(set(found.ids)) == len(found.ids)
    for drawing in text.split("<svg ")[1:]:
        ET.fromstring(f"<svg {drawing.partition('</svg>')[0]}</svg>")  # noqa: S314 -- our own
    return found


def test_the_cause_comes_first_and_each_text_is_found_by_its_role() -> None:
    found = shown(FILES)
    assert found.of("heading")[0] == "worker-0"
    (status,) = found.of("status")
    assert status == (
        "degraded (kubelet may run) nmstate: worker-0.yml, line 3: mtuu is no key To do: Did you mean mtu ? "
        "and 1 more: see Problems"
    )
    assert [each for each in found.of("link") if each in ("Links", "Boot", "History")] == ["Links", "Boot", "History"]
    assert "Error: no such key. Remove it" in found.of("cell")
    assert "the gateway is silent" in found.of("cell")
    assert [each for each in found.of("header") if each.startswith("@")] == [
        f"@{number}" for number in range(20, 10, -1)
    ]
    text = " ".join(found.of("main"))
    assert "Left over from @3: br-test" in text
    assert "keepalived runs here" in text
    assert "line 19999" in text
    assert "nodenetd[1]: line 0 " not in text


def drawn(files: dict[str, Any]) -> ET.Element:
    """Return the drawing of the links."""
    text = page(made(files), ABOUT, moment)
    return ET.fromstring(f"<svg {text.split('<svg ')[1].partition('</svg>')[0]}</svg>")  # noqa: S314 -- our own


def test_the_drawing_goes_from_the_nics_over_bond_and_vlan_to_the_bridge_and_who_answers() -> None:
    drawing = drawn(FILES)
    boxes = {}
    for box in drawing.iter("g"):
        words = [str(item.text) for item in box.iter("text")]
        boxes[words[0]] = (float(next(box.iter("rect")).attrib["x"]), words[1:], box.get("class"))
    order = ["eth0", "bond0", "bond0.20", "br-ex", "10.20.0.1"]
    places = [boxes[name][0] for name in order]
    assert places == sorted(set(places))
    assert boxes["eth0"][1] == ["NIC", "carrier, 25 Gbit/s, MTU 9000", "52:54:00:00:00:02"]
    assert boxes["eth1"][1:] == (["NIC", "no carrier, MTU 9000", "52:54:00:00:00:02"], "box-failed")
    assert boxes["bond0.20"][1][0] == "VLAN 20"
    assert boxes["br-ex"][1][0] == "Open vSwitch"
    assert "10.20.0.5/24" in boxes["br-ex"][1]
    assert boxes["10.20.0.1"][1:] == (["gateway", "answers"], "box-ok")
    assert boxes["10.20.0.53"][1:] == (["DNS server", "does not answer"], "box-failed")
    assert "veth1234" not in boxes
    assert "127.0.0.53" not in boxes
    assert len(list(drawing.iter("path"))) == 6


def test_a_bridge_that_a_node_file_made_is_drawn_over_its_ports() -> None:
    """The kernel does not say which links are in a bridge of Open vSwitch, and with a datapath of its own none."""
    links = [link("eth0"), link("br-ex", "tun", "10.88.0.50"), link("ovs-netdev", "tun", carrier=False)]
    said = 'Bridge br-ex\n    Port br-ex\n        Interface br-ex\n    Port eth0\n        Interface "eth0"\n'
    status = {**STATUS, "uplink": None}
    (drawing, _) = shown({**SMALL, "links.json": links, "ovs-show.txt": said, "status.json": status}).of("img")
    assert drawing.index("eth0 NIC") < drawing.index("br-ex Open vSwitch carrier")
    assert "ovs-netdev" not in drawing


OVN = """    Bridge br-int
        fail_mode: secure
        Port ovn-k8s-mp0
            Interface ovn-k8s-mp0
                type: internal
        Port br-int
            Interface br-int
                type: internal
        Port patch-br-int-to-br-ex_worker-0
            Interface patch-br-int-to-br-ex_worker-0
                type: patch
                options: {peer=patch-br-ex_worker-0-to-br-int}
        Port ovn-0
            Interface ovn-0
                type: geneve
                options: {csum="true", key=flow, remote_ip="10.20.0.9"}
        Port dangling
            Interface dangling
                type: patch
                options: {peer=nothing}
    Bridge br-ex
        Port patch-br-ex_worker-0-to-br-int
            Interface patch-br-ex_worker-0-to-br-int
                type: patch
                options: {peer="patch-br-int-to-br-ex_worker-0"}
        Port bond0.20
            Interface bond0.20
                type: system
        Port br-ex
            Interface br-ex
                type: internal
"""


def test_the_bridge_of_ovn_is_drawn_behind_its_patch_ports() -> None:
    """The patch ports are no links of the kernel: they are the line from br-ex to br-int, and words in both boxes."""
    down: dict[str, Any] = {"flags": [], "operstate": "DOWN"}
    pods = [link("br-int", "openvswitch", **down), link("ovn-k8s-mp0", "openvswitch", "10.128.0.2")]
    files = {**SMALL, "links.json": [*LINKS, *pods], "ovs-show.txt": OVN}
    drawing, before = drawn(files), drawn({**files, "ovs-show.txt": ""})
    boxes = [[str(item.text) for item in box.iter("text")] for box in drawing.iter("g")]
    words = {name: rows[-1] for name, *rows in boxes}
    assert (words["br-int"], words["br-ex"]) == ("patch port to br-ex", "patch port to br-int")
    assert not {"dangling", "patch-br-int-to-br-ex_worker-0"} & words.keys()
    lines, others = ([each.get("class") for each in one.iter("path")] for one in (drawing, before))
    assert len(lines) == len(others) + 2  # from br-ex, and from ovn-k8s-mp0
    assert lines.count("lost") == others.count("lost")  # br-int is down on every node
    assert "ovn-k8s-mp0, ovn-0, patch port to br-ex" in shown(files).of("cell")


def test_a_node_whose_only_link_looks_like_one_of_a_pod_has_a_drawing() -> None:
    files = {"links.json": [link("lo"), link("eth0", "veth", carrier=False)]}
    assert "eth0 veth no carrier" in shown(files).of("img")[0]
    assert shown({"links.json": [link("lo")]}).of("img") == [""]


def test_a_report_without_any_part_says_what_is_missing() -> None:
    found = shown({}, {}, ("The archive is torn.",))
    assert found.of("note") == ["The archive is torn."]
    assert found.of("status") == ["the status is not known"]
    said = " ".join(found.of("main"))
    for name in ("status.json", "links.json", "boot-report.json", "node-file.txt", "diff.json", "history.json"):
        assert f"Not known: {name}: this report has no such part" in said


def evil(value: Any) -> Any:
    """Return a document in which every text is hostile."""
    if isinstance(value, dict):
        return {key: evil(each) for key, each in value.items()}
    if isinstance(value, list):
        return [evil(each) for each in value]
    return EVIL if isinstance(value, str) else value


def test_no_text_from_outside_becomes_markup() -> None:
    """Names of links, of the host, of files, causes, a journal: Page refuses each script and each attribute on…."""
    files = {
        name: evil(value) if not isinstance(value, str) else f"{EVIL}\n{value}{EVIL}" for name, value in FILES.items()
    }
    report = json.loads(json.dumps(FILES["boot-report.json"]))
    for span in report[0]["spans"]:
        span |= {"actor": EVIL, "text": EVIL}
    found = shown({**files, "boot-report.json": report}, evil(ABOUT), (EVIL,))
    assert "alert('x')" in found.of("heading")[0]


@pytest.mark.parametrize("wrong", [None, [], "x", 1e999, -1, {"a": 1}, [[[]]], [None], {"entries": [7]}, [{}], 10**400])
def test_a_part_of_another_shape_costs_its_section_only(wrong: object) -> None:
    for name in SMALL:
        assert shown({**SMALL, name: json.dumps(wrong)}).of("heading")[0] == "worker-0"
    for key in STATUS:
        shown({**SMALL, "status.json": {**STATUS, key: wrong}})
    for key in STATUS["stages"][0]:
        shown({**SMALL, "status.json": {**STATUS, "stages": [{**STATUS["stages"][0], key: wrong}]}})
    for key in LINKS[4]:
        shown({**SMALL, "links.json": [{**each, key: wrong} for each in LINKS]})
    for key in CHANGE:
        shown({**SMALL, "history.json": {"entries": [{**CHANGE, key: wrong}]}})


def test_ten_thousand_links_in_a_circle_with_ten_thousand_problems() -> None:
    links = [link(f"{'x' * 500}{number}", "bond", *(["10.0.0.1"] * 50)) for number in range(10_000)]
    for number, each in enumerate(links):
        each["master"] = links[number - 1]["ifname"]
    status = {**STATUS, "problems": [PROBLEM] * 10_000, "stages": [{"name": "x"}] * 10_000}
    found = {"line": 1, "severity": "error", "cause": "'" * 5000}
    files = {
        **FILES,
        "links.json": json.dumps(links)[:8_000_000],  # the part is cut off at its limit
        "status.json": status,
        "status.txt": "failed\n" + "  note        x\n" * 10_000,
        "node-file.txt": ("'" * 3000 + "\n") * 3000,
        "check.json": {"files": [{"findings": [{**found, "line": line} for line in range(3000)]}]},
        "diff.json": {"changes": [{"place": "'" * 900}] * 10_000},
        "journal.txt": ("'" * 3000 + "\n") * 3000,
    }
    text = " ".join(shown(files).of("main"))
    assert "more links, which are in the archive" in text
    assert "Left out: the page would be too large" in text


@pytest.mark.parametrize("name", ["ovs-show.txt", "resolv.conf"])
def test_blank_lines_do_not_take_the_square_of_their_number(name: str) -> None:
    """A part of an archive has millions of lines at most."""
    began = time.process_time()
    shown({**SMALL, name: "\n" * 200_000})
    assert time.process_time() - began < 5


def test_a_browser_may_load_nothing_and_run_nothing() -> None:
    text = page(made(FILES), ABOUT, moment)
    (policy,) = (each.partition('">')[0] for each in text.split('Content-Security-Policy" content="')[1:])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "url(http" not in text
    assert text.count("<style>") == 1
