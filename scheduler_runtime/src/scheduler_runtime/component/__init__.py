"""Parts that every component of Kubernetes has, for both programs: HTTPS endpoints, access to them, and the log."""
