"""Looks at triage itself: versions, libraries, scanner, places it writes to, optional parts, variables and terminal."""
