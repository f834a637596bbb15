"""Following changes of the configuration document while the scheduler runs."""
