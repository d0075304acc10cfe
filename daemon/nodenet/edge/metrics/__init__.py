"""Figures for a monitoring system, over HTTP."""
