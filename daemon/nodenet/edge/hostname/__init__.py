"""The host name: hostnamed, and names from DHCP leases."""
