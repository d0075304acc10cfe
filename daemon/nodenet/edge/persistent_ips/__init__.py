"""Persistent IPs: the store on disk and the socket of the CNI plugin."""
