"""Reading JSON documents from outside, with errors that name the place."""
