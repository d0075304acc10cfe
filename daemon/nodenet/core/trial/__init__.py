"""A trial of a node file: who holds it until when, what it changes, and the way back."""
