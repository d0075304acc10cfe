"""The record of an adoption, as nodenetd and `nodenetctl status` read it."""
