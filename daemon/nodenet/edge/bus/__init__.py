"""D-Bus: the connection, method calls, the exported service, and its inhibitors."""
