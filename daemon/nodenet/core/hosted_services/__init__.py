"""Hosted services: which of DNS, VIPs and the API load balancer this node runs, and each configuration text.

Only decisions are here. The stage and nodenet-hosted write and start what a plan says.
"""
