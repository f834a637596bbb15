"""The commands, one module each. A module imports what its command needs when the command is run."""
