"""The kernel: rtnetlink, neighbours, sysctls."""
