"""The nodeip stage, and the publisher of its result."""
