"""nodenetctl, one module a verb; each verb imports only what it uses."""
