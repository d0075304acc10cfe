"""Files on disk: atomic writes, careful reads, and the settings files."""
