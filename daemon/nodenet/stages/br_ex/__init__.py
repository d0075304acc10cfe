"""The configure-ovs stage: gather facts, make, verify, repair and remove br-ex."""
