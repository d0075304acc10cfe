"""Decisions and the types they speak: no await, no I/O, no clock, no log."""
