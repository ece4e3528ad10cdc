"""What somebody asked an engine to boot with, in the files of whatever starts it, held against what it booted with."""
