"""The optional classifier: learns from labelled incidents, names what rules left unclassified where it is sure, and keeps silent where it is not."""
