"""The outside world, one module per thing: acts, decides nothing."""
