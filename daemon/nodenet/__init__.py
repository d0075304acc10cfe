"""nodenet: a Kubernetes node's host network, from the first second of boot until kubelet starts."""

__version__ = "0.1.0"
