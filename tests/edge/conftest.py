"""Private places for edges to meet the real thing."""

from edge.private_bus import private_bus

__all__ = ["private_bus"]
