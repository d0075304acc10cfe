"""nodenet-hosted: the companion process that keeps a node's VIPs and API load balancer true.

It may die at any time: DNS, VIPs and the load balancer go on without it.
"""
