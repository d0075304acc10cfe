"""Ownership: what nodenet and NetworkManager wrote on a link, and what another program put there."""
