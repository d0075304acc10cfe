"""nodenet-hosted: the companion process that manages a node's VIPs and API load balancer.

It may die at any time: DNS, VIPs and the load balancer work without it.
"""
