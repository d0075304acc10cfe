"""The uplink after READY: which links and gateways are watched, and when do they make the node degraded?"""
