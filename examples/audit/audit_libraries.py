"""Audit the Laplace noise of numpy, OpenDP and diffprivlib, as anybody finds them, against the epsilon that they claim.

python examples/audit/audit_libraries.py [--samples N] [--diffprivlib PYTHON]

Each library draws n outputs of a value; dpkit sees nothing else. Two hypotheses are tested for each: the claim in real
arithmetic, and the claim of what runs in floating point. A third noise, at half of the scale, shows what a refutation of the
first looks like. diffprivlib needs an older scikit-learn: give the python of an environment of its own, and it is asked there.
"""

import argparse
import subprocess
import sys

import numpy as np

import dpkit

SERVER = """
import sys
import numpy as np
from diffprivlib.mechanisms import Laplace

mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
for line in sys.stdin:
    value, n = line.split()
    outputs = [mechanism.randomise(float(value)) for _ in range(int(n))]
    sys.stdout.buffer.write(np.array(outputs, dtype="<f8").tobytes())
    sys.stdout.buffer.flush()
"""


def numpy_laplace(value, n, rng):
    """The textbook: value plus noise, both floats."""
    return value + rng.laplace(scale=1.0, size=n)


def numpy_half(value, n, rng):
    """Half of the scale that epsilon = 1 needs."""
    return value + rng.laplace(scale=0.5, size=n)


def opendp_laplace(value, n, rng):
    """OpenDP draws from the operating system: a run with it cannot be repeated to the bit."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=1.0)
    return np.array(measurement([value] * n))


def diffprivlib_laplace(python):
    """The mechanism with its own secure randomness, run by another python."""

    server = subprocess.Popen([python, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def fn(value, n, rng):
        server.stdin.write(f"{value!r} {n}\n".encode())
        server.stdin.flush()
        return np.frombuffer(server.stdout.read(8 * n), dtype="<f8")

    return fn


def main():
    """Print one line a hypothesis."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4_000)
    parser.add_argument("--diffprivlib", help="a python that can import diffprivlib")
    arguments = parser.parse_args()
    subjects = {"numpy": numpy_laplace, "numpy, half the scale": numpy_half}
    try:
        import opendp  # noqa: F401

        subjects["OpenDP"] = opendp_laplace
    except ImportError:
        print("OpenDP is not installed: left out.", file=sys.stderr)
    if arguments.diffprivlib:
        subjects["diffprivlib"] = diffprivlib_laplace(arguments.diffprivlib)
    print(f"{'library':22} {'hypothesis':16} {'verdict':12} {'samples':>8} {'epsilon >=':>10}")
    for name, fn in subjects.items():
        found = dpkit.audit(
            fn, dpkit.PureDP(epsilon=1.0), (0.0, 1.0), samples=arguments.samples, rng=1, floating_point=True, name=name
        )
        for one in found:
            bound = f"{one.epsilon_lower:10.3f}" if one.hypothesis == "real arithmetic" else " " * 10
            print(f"{name:22} {one.hypothesis:16} {one.verdict:12} {one.samples:8d} {bound}".rstrip())


if __name__ == "__main__":
    main()
