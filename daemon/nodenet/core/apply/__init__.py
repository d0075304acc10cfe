"""The apply pipeline's decisions: what may be retried, and what an earlier apply left behind."""
