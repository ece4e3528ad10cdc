"""Where the bytes come from: finds and opens logs, cuts them into pieces, and frees lines of what was put around them."""
