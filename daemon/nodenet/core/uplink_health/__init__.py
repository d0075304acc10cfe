"""The uplink after READY: which links and gateways are watched, and when is the node degraded by them?"""
