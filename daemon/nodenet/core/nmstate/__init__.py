"""NMState documents and libnmstate: reading its state, and its failures."""
