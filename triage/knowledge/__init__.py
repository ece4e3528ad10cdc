"""What triage knows, as typed rules, and the scanner that finds them."""
