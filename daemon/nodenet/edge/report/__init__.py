"""The report for a bug: commands with limits, what may contain secrets, and the archive."""
