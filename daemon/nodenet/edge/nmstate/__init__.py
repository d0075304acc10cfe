"""libnmstate in a child process."""
