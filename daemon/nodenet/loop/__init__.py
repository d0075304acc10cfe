"""The daemon's loop: the reconciler, reloads, the watchdog, requests, and the journal of a boot."""
