"""Which alerts fire for what the programs write? promtool evaluates the product's own rules over their texts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from promtool import promtool

RULES = Path(__file__).resolve().parents[1] / "packaging" / "monitoring" / "alerts.yaml"
_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
EVER_FIRED = 'count by (alertname) (max_over_time(ALERTS{{alertstate="firing"}}[{minutes}m]))'


def fired(directory: Path, *nodes: list[tuple[int, str]]) -> set[str]:
    """Return the alerts that fire at any time. A node is what Prometheus reads of it: for so many minutes, a text.

    *directory* is for the files of the test.
    """
    minutes = max(sum(length for length, _ in phases) for phases in nodes)
    series = [one for number, phases in enumerate(nodes) for one in _series(f"node-{number}", phases)]
    asked = {"expr": EVER_FIRED.format(minutes=minutes), "eval_time": f"{minutes}m", "exp_samples": []}
    case = {"interval": "1m", "input_series": series, "promql_expr_test": [asked]}
    wanted = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [case]}
    path = directory / "alerts_in_use.json"  # JSON is YAML as well
    path.write_text(json.dumps(wanted))
    done = subprocess.run([promtool(), "test", "rules", path], capture_output=True, text=True, check=False, timeout=120)
    said = done.stdout + done.stderr
    found = set(re.findall(r'alertname=\\?"(\w+)\\?"', said))
    assert bool(found) is (done.returncode != 0), said
    return found


def _series(instance: str, phases: list[tuple[int, str]]) -> list[dict[str, str]]:
    """Return every sample of a node over the time; one that has gone is stale, as Prometheus marks it."""
    read = [(length, dict(_samples(instance, text))) for length, text in phases]
    names = dict.fromkeys(name for _, samples in read for name in samples)
    return [
        {
            "series": name,
            "values": " ".join(samples.get(name, "stale") for length, samples in read for _ in range(length)),
        }
        for name in names
    ]


def _samples(instance: str, text: str) -> list[tuple[str, str]]:
    found = [_SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]
    assert None not in found
    labels = [(one, f'instance="{instance}"' + (f",{one[2]}" if one[2] else "")) for one in found if one]
    return [(f"{one[1]}{{{inner}}}", one[3]) for one, inner in labels]
