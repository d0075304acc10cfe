"""nodenet-ipam: the service behind the CNI plugin nodenet-ipam, which gives pods their addresses."""
