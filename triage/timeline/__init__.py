"""Events joined to boots, outages and incidents."""
