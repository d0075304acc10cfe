"""A fleet: what is saved of many nodes, compared with each other, and what new files would do to them."""
