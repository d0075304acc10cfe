"""`nodenetctl adopt` and `nodenetctl hand-back`: gather, show, carry out, and undo."""
