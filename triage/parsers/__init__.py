"""One module a kind of log: bytes and lines to events."""
