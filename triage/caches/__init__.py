"""Caches of compiled code: finds them, tells which boot built each, keeps the evidence of the build, and only then removes."""
