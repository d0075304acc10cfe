"""The node's DNS resolver: resolv.conf and who writes it."""
