"""Hosted services: their files, their units, the nft table, and dnsmasq on D-Bus."""
