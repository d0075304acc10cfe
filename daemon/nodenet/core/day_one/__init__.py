"""Day-one artefacts: the same node files for each tool that installs a cluster, and back."""
