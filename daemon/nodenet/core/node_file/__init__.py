"""The node file: which file belongs to this host, what it may contain, and what it asks for."""
