"""Links, addresses, routes and neighbours: as values, in rtnetlink messages, and in iproute2's JSON."""
