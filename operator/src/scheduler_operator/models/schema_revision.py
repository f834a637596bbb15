"""Revision of the schemas in the CRDs. ``make crds`` writes this file, and raises the number with every change."""

REVISION = 4
DIGEST = "b3024bf12d21017d"
