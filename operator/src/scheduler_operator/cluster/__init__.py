"""Access to the cluster: requests, credentials, apply and prune, field ownership."""
