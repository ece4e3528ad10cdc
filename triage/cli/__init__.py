"""One file a command: wiring only."""

import atexit
import gc

FEW_COLLECTIONS = (50_000, 20, 20)  # a run makes many small records and hardly a cycle: looking for those takes a tenth of its time

gc.set_threshold(*FEW_COLLECTIONS)  # before anything else is loaded
atexit.register(gc.freeze)  # what is left at the end goes with the process: to look through it for cycles takes a sixth of a short run
