"""Metrics for a monitoring system: how a metric is described and written, and which events are counted."""
