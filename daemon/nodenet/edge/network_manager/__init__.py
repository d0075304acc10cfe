"""NetworkManager on D-Bus."""
