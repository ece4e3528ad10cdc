"""The memory of triage: one SQLite file that holds each event, probe, dump and incident once, however often it was read."""
