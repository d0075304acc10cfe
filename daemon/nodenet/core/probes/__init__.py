"""The probes around an apply: what must answer before and after it, and which silence rolls a node file back."""
