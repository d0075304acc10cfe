"""Stages done by systemd units: when a unit is started, and the evidence that it did its work."""
