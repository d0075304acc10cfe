"""The options: what the settings say, and the defaults of both are the same."""

from dataclasses import fields

from nodenet.core.hosted_services.model import Options, Role, options_of
from nodenet.core.settings.model import Enabled, Settings
from nodenet.core.settings.parse import parse

TEXT = b"""platform = "baremetal"
api_vips = ["192.0.2.2"]
ingress_vips = ["192.0.2.3"]
user_managed_lb = true
cluster_domain = "c.example.com"
[hosted]
enabled = "yes"
role = "worker"
drain_seconds = 5
advert_interval = 0.5
api_port = 443
lb_port = 444
ca_file = "/ca"
ingress_health = "http://127.0.0.1:10254/healthz"
"""


def test_the_defaults() -> None:
    """Hosted services have to be asked for."""
    assert options_of(Settings()) == Options(enabled=Enabled.NO)


def test_every_option_follows_its_setting() -> None:
    made = options_of(parse([("file", TEXT)]).settings)
    # where nodenet-hosted keeps the CA, whatever the settings name
    followed = {each.name for each in fields(Options)} - {"ca_file"}
    assert all(getattr(made, name) != getattr(Options(), name) for name in followed)
    assert made.role is Role.WORKER
