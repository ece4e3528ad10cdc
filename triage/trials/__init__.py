"""Trials: runs made to find something out, with arms, instruments, the shape that was forced, and predictions made before."""
