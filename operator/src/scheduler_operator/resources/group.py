"""The API group of the two kinds that people write. Apart from the models, which take longer to import."""

GROUP = "berth.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
NAME_LENGTH = 52
"""At most: Services and Leases are named after a profile."""
