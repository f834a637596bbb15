"""The operator process: command line, endpoints, leadership, lifecycle."""
