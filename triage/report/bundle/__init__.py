"""The evidence of incidents in one file for others to read: packed, verified, opened; and a draft of the issue it is attached to."""
