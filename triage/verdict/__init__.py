"""Forks, root before consequence, and the name of each incident."""
