"""Revision of the schemas in the CRDs. ``make crds`` writes this file, and raises the number with every change."""

REVISION = 3
DIGEST = "0d16c1fe1231b212"
