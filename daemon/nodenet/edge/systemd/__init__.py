"""systemd: units on D-Bus, notifications, the journal."""
