"""The report for a bug: which parts it has, and how secrets stay out of it."""
