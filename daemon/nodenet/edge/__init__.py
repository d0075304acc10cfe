"""The outside world, one module for each system. Edges act and decide nothing."""
