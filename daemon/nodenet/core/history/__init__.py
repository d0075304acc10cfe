"""The history: every change of the network that is over, which of them the node worked with, and what they left."""
