"""Revision of the schemas in the CRDs. ``make crds`` writes this file, and raises the number with every change."""

REVISION = 2
DIGEST = "abe347940054ebb0"
