"""Hosted services on the node."""
