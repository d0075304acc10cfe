"""The Kubernetes API, with this node's credentials."""
