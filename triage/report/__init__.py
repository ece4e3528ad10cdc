"""Tables, documents and explanations of what was found."""
