"""Open vSwitch's database."""
