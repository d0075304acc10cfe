"""One page of a node: a report as a document for a browser, on paper and in a ticket."""
