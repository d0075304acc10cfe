"""The settings: their values and where each comes from, and how the files are read."""
