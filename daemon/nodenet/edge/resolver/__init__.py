"""systemd-resolved, and a probe for DNS servers."""
