"""Does every case under ``fixtures/hosted_services`` come out as written down, and do the real programs accept it?"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hosted_services_cases import CASES, directories, files_of, read_inputs
from nodenet.core.hosted_services.dns import rules as guard_of_dns
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.plan import plan, release_batch

LINKS = ("br-ex", "eth0", "eth1", "bond0", "bond0.100")


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_a_case_comes_out_as_written_down(directory: Path) -> None:
    wanted = {path.name: path.read_text() for path in directory.iterdir() if path.name != "inputs.toml"}
    assert files_of(plan(read_inputs(directory))) == wanted


def test_there_are_at_least_sixty_cases() -> None:
    assert len(directories()) >= 60


def distinct(name: str) -> list[Path]:
    """Return one file for each text of that name among the cases."""
    found = {path.read_text(): path for path in sorted(CASES.glob(f"*/{name}"))}
    assert found
    return list(found.values())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate authority, for haproxy to read."""
    place = tmp_path_factory.mktemp("ca")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=test", "-days", "2", "-keyout", str(place / "key"), "-out", str(place / "ca.crt")]
    subprocess.run(command, check=True, capture_output=True)
    return place / "ca.crt"


def test_haproxy_accepts_every_configuration(tmp_path: Path, authority: Path) -> None:
    need("haproxy")
    for number, path in enumerate(distinct("haproxy.cfg")):
        text = path.read_text()
        for configured in ("/run/nodenet/hosted/ca.crt", "/etc/kubernetes/pki/ca.crt"):
            text = text.replace(f"ca-file {configured} ", f"ca-file {authority} ")
        tried = tmp_path / f"{number}.cfg"
        tried.write_text(text)
        accepted(["haproxy", "-c", "-f", str(tried)], path)


def test_dnsmasq_accepts_every_configuration() -> None:
    need("dnsmasq")
    for path in distinct("dnsmasq.conf"):
        accepted(["dnsmasq", "--test", "-C", str(path)], path)


def test_keepalived_accepts_every_configuration() -> None:
    """In a network namespace that has the links: keepalived looks for them."""
    need("keepalived", root=True)
    links = "".join(f"ip link add {link} type bridge && " for link in LINKS)
    for path in distinct("keepalived.conf"):
        accepted(["unshare", "--net", "sh", "-c", f"{links} exec keepalived --config-test --use-file={path}"], path)


def test_nft_accepts_every_rule() -> None:
    need("nft", root=True)
    for path in distinct("redirect.nft"):
        accepted(["unshare", "--net", "nft", "--check", "--file", str(path)], path)


def test_nft_accepts_the_guard_of_dns_of_every_node() -> None:
    need("nft", root=True)
    heres = (read_inputs(directory).here for directory in directories())
    made = {guard_of_dns(here, tuple(place.link for place in here.places.values())) for here in heres}
    done = run_in_namespace(["nft", "--check", "--file", "-"], "".join(made))
    assert (done.returncode, done.stderr) == (0, "")


def test_ip_takes_the_vips_of_every_node_off_whichever_link_has_them() -> None:
    """Also with the length of a subnet, as an earlier version or an administrator has put it there."""
    need("ip", root=True)
    cases = [read_inputs(directory) for directory in directories()]
    lines = sorted({line for inputs in cases for line in release_batch(plan(inputs)).splitlines(keepends=True)})
    assert len(lines) > 5
    vips = [line.split()[-1].partition("/")[0] for line in lines]
    links = "".join(f"link add {link} type bridge\n" for link in LINKS)
    first, last = LINKS[0], LINKS[-1]
    held = "".join(
        f"address add {vip}/{length} dev {link}\n"
        for vip in vips
        for link, length in ((first, 128 if ":" in vip else 32), (last, 64 if ":" in vip else 24))
    )
    kept = f"address add 192.0.2.250/24 dev {first}\n"
    batch_text = links + kept + held + "".join(lines) + "address show\n"
    done = run_in_namespace(["ip", "-batch", "-"], batch_text)
    assert (done.returncode, done.stderr) == (0, "")
    assert "192.0.2.250" in done.stdout
    assert not [vip for vip in vips if f" {vip}/" in done.stdout]


def run_in_namespace(command: list[str], given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["unshare", "--net", *command], input=given, capture_output=True, text=True, check=False)


def test_the_programs_refuse_what_is_wrong(tmp_path: Path) -> None:
    """So that the four tests above can fail."""
    need("haproxy", root=True)
    wrong = tmp_path / "wrong"
    wrong.write_text("colour blue\n")
    for command in (
        ["haproxy", "-c", "-f", str(wrong)],
        ["dnsmasq", "--test", "-C", str(wrong)],
        ["unshare", "--net", "keepalived", "--config-test", f"--use-file={wrong}"],
        ["unshare", "--net", "nft", "--check", "--file", str(wrong)],
    ):
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0, command


def need(program: str, *, root: bool = False) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here")
    if root and os.geteuid() != 0:
        pytest.skip("a network namespace needs root")


def accepted(command: list[str], path: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{path.parent.name}: {done.stdout}{done.stderr}"


def test_every_service_is_seen_in_some_case() -> None:
    assert {service for path in directories() for service in plan(read_inputs(path)).texts} == set(Service)


def lines(case: str) -> str:
    return release_batch(plan(read_inputs(CASES / case)))


def test_each_vip_of_this_node_is_taken_off_every_link() -> None:
    assert lines("dual-stack-control-plane") == (
        "address flush to 192.0.2.2/32\n"
        "address flush to 2001:db8::2/128\n"
        "address flush to 192.0.2.3/32\n"
        "address flush to 2001:db8::3/128\n"
    )


def test_a_vip_that_is_a_node_ip_is_never_deleted() -> None:
    assert "192.0.2.10" not in lines("vip-is-this-nodes-address")
