"""The node's host name: valid names, and the sources that a name can come from."""
