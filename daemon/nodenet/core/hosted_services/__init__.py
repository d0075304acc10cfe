"""Hosted services: which of DNS, VIPs and the API load balancer this node runs, and each configuration text.

Decided here and not started yet: the stage and the companion process that write and start what a plan says come next.
"""
