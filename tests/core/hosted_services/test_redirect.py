"""The rules of the redirect on a kernel: made, replaced and removed as a whole."""

import os
import subprocess

import pytest

from hosted_services_cases import CASES
from nodenet.core.hosted_services.haproxy import REMOVAL, TABLE, ports


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_the_table_is_replaced_and_removed_as_a_whole() -> None:
    """Applied twice it is the same; removed twice it is no error; another table is not touched."""
    rules = (CASES / "dual-stack-control-plane" / "redirect.nft").read_text()
    script = f"""set -e
nft add table inet other
for i in 1 2; do nft -f - <<'RULES'
{rules}RULES
done
nft list table {TABLE} | grep -c 'redirect to'
for i in 1 2; do nft -f - <<'RULES'
{REMOVAL}RULES
done
nft list tables
"""
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["4", "table inet other", ""]


def test_the_ports_are_those_to_which_the_rules_lead() -> None:
    assert ports((CASES / "dual-stack-control-plane" / "redirect.nft").read_text()) == {"9445"}
    assert ports(REMOVAL) == frozenset()
