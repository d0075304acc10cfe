"""The status document, its text for people, its events, and the D-Bus interfaces and values."""
