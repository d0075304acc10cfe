"""The boot: stages and their order, outcomes, facts, and inhibitors."""
