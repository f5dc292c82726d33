"""How every test runs, those of plugins too: one thread of BLAS a process, kept bytecode, no walks over what stays loaded."""

import gc
import os
import sys

from hypothesis import settings

# Before numpy is loaded. Tests run in several processes, and threads of BLAS that wait spin: up to eight times the CPU time.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Workers and the commands that tests start load the same modules again and again: without bytecode each compiles them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A short run tries a third of the examples, which catch the mutants.
# `make audit-all` tries all, by `--hypothesis-profile default`.
settings.register_profile("short", max_examples=33)
settings.load_profile("short")


def pytest_collection_finish() -> None:
    """What is loaded by now stays loaded: the collector of garbage need not walk over it again, nor look so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # Python's own thresholds cost a thirtieth of the time of examples
