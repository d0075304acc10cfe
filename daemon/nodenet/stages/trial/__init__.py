"""A trial of a node file: applied, held until an administrator decides, confirmed or rolled back."""
