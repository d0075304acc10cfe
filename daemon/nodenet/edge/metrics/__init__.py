"""Metrics for a monitoring system: files for the textfile collector of node_exporter, and an HTTP endpoint."""
