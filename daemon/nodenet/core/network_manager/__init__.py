"""NetworkManager: its objects on the bus, profiles and their backups, and whether it is running."""
