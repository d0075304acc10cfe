"""A change of the network: its states and events, what the network was before it, and the way back."""
