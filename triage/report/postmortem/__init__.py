"""The postmortem: what was found, gathered once into plain safe text, then written as one HTML page or one Markdown file."""
