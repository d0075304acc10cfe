"""br-ex: the uplink, the plan, its condition, the way back, and the record across boots."""
