"""The saved documents of many nodes: report archives and JSON files."""
