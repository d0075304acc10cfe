"""Open vSwitch: bridges, ports and interfaces in its database."""
