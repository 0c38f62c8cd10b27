"""Run the array API's own test suite, ``make array-api``: a clone of data-apis/array-api-tests
judges ``mx.np.array_api``. ARRAY_API_TESTS names the clone, which stays as it is: a copy is run.

What is expected to fail stands in ``array_api_xfails.txt``, with a reason each.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2024.12"
LACKING = "int16,uint16,uint32,uint64,complex64,complex128"
XFAILS = Path(__file__).with_name("array_api_xfails.txt")


def prepare(clone, where):
    """A copy of the clone that a library without complex dtypes can import."""
    copy = Path(shutil.copytree(clone, where / "array-api-tests"))
    # where the specification's texts are not checked out the suite needs no more than their folder
    (copy / "array-api" / "spec" / VERSION / "API_specification").mkdir(parents=True, exist_ok=True)
    helpers = copy / "array_api_tests" / "dtype_helpers.py"
    text, count = re.subn(
        r"(for dt in complex_dtypes\], key=lambda x: x\[1\])\n",
        r"\1, default=(None, 0)\n",
        helpers.read_text(),
    )
    if count != 1:
        sys.exit(f"{helpers}: the widest complex dtype is no longer found where it was")
    helpers.write_text(text)
    return copy


def main(arguments):
    clone = os.environ.get("ARRAY_API_TESTS", "")
    if not (Path(clone) / "array_api_tests").is_dir():
        sys.exit(
            f"ARRAY_API_TESTS is {clone!r}: the folder of a clone of "
            "https://github.com/data-apis/array-api-tests (with submodules) is expected"
        )
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "cynet.numpy.array_api",
        "ARRAY_API_TESTS_VERSION": VERSION,
        "ARRAY_API_TESTS_SKIP_DTYPES": LACKING,
    }
    with tempfile.TemporaryDirectory() as where:
        copy = prepare(clone, Path(where))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--disable-deadline",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            "--xfails-file",
            str(XFAILS),
            *(arguments or ["--max-examples=10"]),
            "array_api_tests",
        ]
        return subprocess.run(command, cwd=copy, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
