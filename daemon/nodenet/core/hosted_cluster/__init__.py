"""Hosted services of the whole cluster: what each node reports, and the status that follows from all reports."""
