"""Hosted services: DNS, VIPs and the API load balancer on the node. Today: which link forwards packets."""
