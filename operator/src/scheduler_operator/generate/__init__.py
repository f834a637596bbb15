"""Generators of files in the repository: the CRDs, and the chart's permissions."""
