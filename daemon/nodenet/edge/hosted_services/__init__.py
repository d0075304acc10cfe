"""Hosted services: their files, units, nft table and DNS on D-Bus; the wire, addresses and processes of their VIPs."""
