"""The seam to kopf: the only package that imports it, and all that keeps kopf alive."""
