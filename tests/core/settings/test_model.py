"""The settings' values: written back as they are read, and one provider for every stage."""

import json

from nodenet.core.settings.model import STAGES, values
from nodenet.core.settings.parse import parse
from nodenet.core.stage_name import StageName

WRITTEN = b"""probe_targets = ['tcp://[2001:db8::1]:6443', 'https://[2001:db8::1]:6443/readyz']
api_vips = ['192.0.2.10']
[bridge]
datapath = 'netdev'
[hosted]
advert_interval = 0.5
role = 'worker'
"""


def test_values_can_be_written_back() -> None:
    """What `nodenetctl settings` prints is valid input again."""
    settings = parse([("first.toml", WRITTEN)]).settings
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values(settings).items())
    assert parse([("second.toml", text.encode())]).settings == settings


def test_the_stages_are_the_stages() -> None:
    assert tuple(stage.value for stage in StageName) == STAGES
