"""The apply pipeline that the nmstate and configure-ovs stages share."""
