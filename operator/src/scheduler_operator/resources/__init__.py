"""Names, labels, kinds and user objects: light constants that every room uses."""
