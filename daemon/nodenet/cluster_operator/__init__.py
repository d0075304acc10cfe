"""nodenet-operator: the process in the cluster that says in the object HostedNetServices what all nodes report.

Nodes work without it; they read from it who their peers are.
"""
