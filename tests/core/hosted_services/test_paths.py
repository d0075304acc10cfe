"""Files and units: the texts of the plan name the same files."""

from nodenet.core.hosted_services import dnsmasq, keepalived, paths
from nodenet.core.hosted_services.model import Service


def test_the_texts_name_the_files() -> None:
    assert str(paths.HOSTS) == dnsmasq.HOSTS
    assert {str(paths.RUN)} == {file.rpartition("/")[0] for file in keepalived.WEIGHT_FILES.values()}


def test_every_service_has_a_file_and_all_but_the_redirect_a_unit() -> None:
    assert set(paths.TEXTS) == set(Service)
    assert set(paths.UNITS) == set(Service) - {Service.REDIRECT}
    assert len(set(paths.TEXTS.values())) == len(Service)
