"""The boot's stages: gather from the edges, ask core, act through the edges."""
