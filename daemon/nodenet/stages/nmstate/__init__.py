"""The nmstate stage, and the check of a node file before a reload."""
