"""Which settings do hosted services have?"""

from __future__ import annotations

from nodenet.core.hosted_services.model import Options, Role
from nodenet.core.settings.model import RoleSetting, Settings


def options_of(settings: Settings) -> Options:
    """Return the options that *settings* mean."""
    hosted = settings.hosted
    return Options(
        platform=settings.platform,
        cluster_domain=settings.cluster_domain,
        api_vips=settings.api_vips,
        ingress_vips=settings.ingress_vips,
        user_managed_lb=settings.user_managed_lb,
        enabled=hosted.enabled,
        role=None if hosted.role is RoleSetting.AUTO else Role(hosted.role),
        advert_interval=hosted.advert_interval,
        drain_seconds=hosted.drain_seconds,
        api_port=hosted.api_port,
        lb_port=hosted.lb_port,
        ingress_health=hosted.ingress_health,
    )
