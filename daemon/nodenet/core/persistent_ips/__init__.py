"""Persistent IPs: pools, claims and Leases, the steps of each CNI verb, and what a restart has to repair."""
