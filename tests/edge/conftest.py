"""Private places for edges to meet the real thing."""

from edge.private_bus import any_bus, broker_programs, private_bus, public_directory, system_bus

__all__ = ["any_bus", "broker_programs", "private_bus", "public_directory", "system_bus"]
