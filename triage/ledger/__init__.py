"""The ledger: mitigations as hypotheses with a cost, a falsifier that was written down before, and a clock."""
