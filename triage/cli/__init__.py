"""One file a command: wiring only."""
