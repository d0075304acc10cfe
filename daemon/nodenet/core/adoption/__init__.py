"""Adoption: how a node changes from the former chain of units to nodenet and back, step by step."""
