"""The probes around an apply that need sockets: ping, the path MTU, TCP."""
