"""Reports about pods: events and conditions, sent behind bindings."""
