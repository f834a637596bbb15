"""The scheduler process: command line, start, leadership, shutdown, and the composition of all parts."""
