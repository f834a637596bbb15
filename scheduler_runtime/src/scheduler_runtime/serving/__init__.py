"""Read-only HTTPS endpoints of a running scheduler: health, metrics, configuration, and debug pages."""
