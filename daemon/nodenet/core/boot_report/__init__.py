"""The boot report: a timeline read from the journal, and its SVG picture."""
