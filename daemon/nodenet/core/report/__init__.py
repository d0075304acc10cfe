"""A bug report: which parts it has, and how secrets are kept out."""
