"""Runs the benchmark files, each in a process of its own, and prints one table."""

import argparse
import sys
from pathlib import Path

from harness import run_file, table

HERE = Path(__file__).parent
WITH_ROWS = "\n    main(__doc__, rows)\n"  # end of files that measure times beside MXNet's


def main():
    """Measure all files, or those named; beside MXNet when ``--mxnet`` is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="files to run, e.g. imperative (default: all)")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python that has MXNet 1.x")
    args = parser.parse_args()
    files = [p for p in sorted(HERE.glob("*.py")) if WITH_ROWS in p.read_text()]
    if args.names:
        files = [p for p in files if p.stem in args.names]
    for path in files:
        title, rows = run_file(sys.executable, path, "cynet")
        beside = run_file(args.mxnet, path, "mxnet")[1] if args.mxnet else ()
        print(table(title, rows, beside), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
